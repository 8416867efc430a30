"""Reading a file through a cache.

A file that a package outside mlsysim could hold: variables, formulas, a variant of each and a model.
"""

from mlsysim import Example, Formula, PerformanceModel, Source, between, positive, variable

hits = variable("cache_hit_share", "h", "", "Share of the bytes that the cache has.", between(0, 1))
size = variable("file_bytes", "F", "GB", "Bytes of the file.", positive())
near = variable("cache_bandwidth", "B_c", "GB/s", "Bandwidth of the cache.", positive())
far = variable("disk_bandwidth", "B_d", "GB/s", "Bandwidth of the disk.", positive())
time = variable("read_time", "T_r", "s", "Time to read the file.")
rate = variable("read_bandwidth", "B_r", "GB/s", "Bytes read per second.")

in_turn = Formula(
    time,
    size * (hits / near + (1 - hits) / far),
    title="One after the other",
    source=Source("own", "both are read one after the other"),
    variant="in_turn",
    example=Example({size: 8, hits: 0.5, near: 8, far: 2}, "2.5 s", derived="8 * (0.5 / 8 + 0.5 / 2)"),
)
at_once = Formula(
    time,
    size * (1 - hits) / far,
    title="The cache behind the disk",
    source=Source("https://example.org/caches?page=2", "section 3"),
    variant="at_once",
    example=Example({size: 8, hits: 0.5, far: 2}, "2.0 s", derived="8 * 0.5 / 2"),
)
achieved = Formula(
    rate,
    size / time,
    title="Bandwidth that is reached",
    source=Source("williams2009"),
    example=Example({size: 8, time: 2.5}, "3.2 GB/s", derived="8 / 2.5"),
)


class CachedReadModel(PerformanceModel):
    """How long does it take to read a file through a cache?"""

    command = "read"
    example = {"file_bytes": "8 GB", "cache_hit_share": 0.5, "cache_bandwidth": 8, "disk_bandwidth": 2}
    variants = {"in_turn": (in_turn, achieved), "at_once": (at_once, achieved)}
