"""Names of number formats, where the catalog and the symbols can both import them.

A device lists its peak rate per format, and ``precision`` is one of them.
"""

#: Widest first; a choice variable numbers its labels in this order.
NUMBER_FORMATS = ("fp32", "tf32", "bf16", "fp16", "fp8", "int8", "int4")
