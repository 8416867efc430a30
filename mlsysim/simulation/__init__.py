"""Events of a serving engine, one iteration after the other: step times of the model of an iteration, and no law of waiting."""
