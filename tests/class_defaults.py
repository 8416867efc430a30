"""Write down what the classes of transformers take where a config.json leaves a field out.

``python tests/class_defaults.py`` rewrites ``mlsysim/catalog/class_defaults.toml`` from the release that is installed.
"""

import dataclasses
import inspect
import re
from pathlib import Path

import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from mlsysim.catalog import huggingface, patterns

FILE = Path(huggingface.__file__).with_name("class_defaults.toml")
#: Types that transformers has under another name.
CLASSES = {
    "kimi_k2": "deepseek_v3",
    "deepseek_ref": "deepseek_v4",
    "RefinedWebModel": "falcon",
    "phi4_multimodal_text": "phi4_multimodal",
}


def declared(model_type):
    """Whole numbers and flags that a class declares; what it derives from other fields is none of them."""
    name = CLASSES.get(model_type, model_type)
    if name not in CONFIG_MAPPING:
        return {}
    fields = dataclasses.fields(CONFIG_MAPPING[name])
    return {field.name: field.default for field in fields if type(field.default) in (int, bool)}


def asked(model_type):
    """Words of the layout of a type and of its patterns, the fields that they read among them."""
    lines = huggingface.layout(model_type)
    named = [name.partition(":")[0] for name in (*lines["mixers"], *lines["blocks"], *lines.get("indexers", ()))]
    sources = [inspect.getsource((patterns.MIXERS | patterns.BLOCKS)[name]) for name in named]
    beside = huggingface.encoder(model_type).values() if "stack" in lines else ()
    words = set(re.findall(r"\w+", " ".join([*map(str, lines.values()), *map(str, beside), *sources])))
    implied = huggingface.tables()["implied"]
    words |= {word for name in words & implied.keys() for word in re.findall(r"\w+", implied[name])}
    return words - {*huggingface.tables()["common"]["only"]}


def text():
    """Content of the file."""
    lines = [f"# Written by tests/class_defaults.py from transformers {transformers.__version__}.", ""]
    for model_type in (*huggingface.tables()["types"], *huggingface.tables()["stacks"]):
        if "other" in huggingface.layout(model_type):
            continue
        known, wanted = declared(model_type), asked(model_type)
        shown = [f"{name} = {str(known[name]).lower()}" for name in known if name in wanted]
        lines += [f"{model_type} = {{ {', '.join(shown)} }}"] if shown else []
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
