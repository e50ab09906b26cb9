# Python with numpy: arrays that are copied, filled, joined, sorted and compared.
/usr/bin/python3 - "$AMOUNT" <<'PROGRAM'
import hashlib, pickle, sys
import numpy as np

def digest(data):
    return hashlib.sha256(bytes(data)).hexdigest()[:16]

random = np.random.default_rng(1)
for turn in range(int(sys.argv[1])):
    one = random.integers(0, 1 << 40, 20_000 + 777 * turn)
    two = one.copy()
    assert (one == two).all() and one.tobytes() == two.tobytes()
    joined = np.concatenate([one, two[::-1], np.zeros(5000 + turn), np.full(9000, 7)])
    joined.sort(kind="stable")
    table = joined[: joined.size // 100 * 100].reshape(-1, 100)
    print(turn, digest(table), digest(np.ascontiguousarray(table.T)), digest(np.roll(joined, 4321)))
    text = bytearray(joined.tobytes())
    text[1000:90_000] = text[2000:91_000]
    assert bytes(text) == text and pickle.loads(pickle.dumps(text)) == text
    changed = bytes(text[:-1]) + b"x"
    print(changed > bytes(text), changed < bytes(text), digest(changed))
PROGRAM
