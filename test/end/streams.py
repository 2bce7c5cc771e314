"""streams - tasks that write and read a stream, for tests in which the first attempt fails."""

STREAM = [{"name": "s", "kind": "stream"}]
LINES = 30000  # 170 kB: more than a pipe takes
ALL = "".join(f"{i}\n" for i in range(1, LINES + 1))
FIRST = "test $ROTA_ATTEMPT = 1"


def writer(first, **more):
    """One whose first attempt runs `first`, and whose other ones write all."""
    return {"run": f"if {FIRST}; then {first}; fi; seq {LINES} > $ROTA_OUT_s", "out": STREAM,
            "retries": 1, **more}


def reader(name="all", **more):
    return {"run": f"cat > {name}", "stdin": "s", "out": [name], "keep": True, **more}
