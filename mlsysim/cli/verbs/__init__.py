"""Commands of further verbs, one module each; what a verb needs is imported when it runs."""
