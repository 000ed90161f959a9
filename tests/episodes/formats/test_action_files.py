from __future__ import annotations

import numpy as np
import pytest

from kin4d.episodes.formats.action_files import read_actions, write_actions
from kin4d.errors import InputError
from kin4d.kinematics.actions import Actions

ROWS = np.arange(12.0).reshape(4, 3) / 100


def test_npz_round_trip(tmp_path) -> None:
    actions = Actions(
        kind="pose_delta",
        values=np.arange(21.0).reshape(3, 7) + 1,
        fps=5,
        gripper=[0.0, 0.04, 0.08],
        gripper_unit="metres",
        rotation="quaternion_xyzw",
        frame="tool",
        link="hand",
    )
    back = read_actions(write_actions(tmp_path / "a.npz", actions))
    for name in ("kind", "fps", "gripper_unit", "rotation", "frame", "link", "names"):
        assert getattr(back, name) == getattr(actions, name)
    np.testing.assert_array_equal(back.values, actions.values)
    np.testing.assert_array_equal(back.gripper, actions.gripper)
    one = Actions(kind="joint", values=ROWS[:, :1], fps=5, names=("lid",))
    assert read_actions(write_actions(tmp_path / "b.npz", one)).names == ("lid",)


def test_an_npz_array_may_be_called_after_its_kind(tmp_path) -> None:
    np.savez(tmp_path / "a.npz", joint_delta=ROWS, gripper=np.ones(4), fps=10)
    actions = read_actions(tmp_path / "a.npz")
    assert (actions.kind, actions.fps) == ("joint_delta", 10)
    np.testing.assert_array_equal(actions.gripper, 1)
    np.savez(tmp_path / "b.npz", recorded=ROWS)
    with pytest.raises(InputError, match="holds no actions"):
        read_actions(tmp_path / "b.npz", fps=10)
    assert len(read_actions(tmp_path / "b.npz", key="recorded", fps=10, kind="joint_delta")) == 4
    with pytest.raises(InputError, match=r"no 'other'.*recorded"):
        read_actions(tmp_path / "b.npz", key="other", fps=10)


def test_npy_takes_kind_and_rate_from_the_caller(tmp_path) -> None:
    np.save(tmp_path / "a.npy", ROWS)
    actions = read_actions(tmp_path / "a.npy", fps=15)
    assert (actions.kind, actions.names) == ("joint", None)
    with pytest.raises(InputError, match="actions there are per second"):
        read_actions(tmp_path / "a.npy")
    split = read_actions(tmp_path / "a.npy", fps=15, gripper_column=-1)
    np.testing.assert_array_equal(split.values, ROWS[:, :2])
    np.testing.assert_array_equal(split.gripper, ROWS[:, 2])
    with pytest.raises(InputError, match="no column 7"):
        read_actions(tmp_path / "a.npy", fps=15, gripper_column=7)


def test_csv_columns_are_joints_by_name(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("time,elbow,wrist,gripper\n0.0,0.1,0.2,1\n0.1,0.3,0.4,0\n0.2,0.5,0.6,0\n\n")
    actions = read_actions(path)
    assert actions.names == ("elbow", "wrist")
    assert actions.fps == pytest.approx(10)
    np.testing.assert_allclose(actions.values, [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    np.testing.assert_allclose(actions.gripper, [1, 0, 0])


def test_csv_without_header_and_poses_by_name(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("0.1,0.2\n0.3,0.4\n")
    assert read_actions(path, fps=10).names is None
    path.write_text("qx,qy,qz,qw,x,y,z\n0,0,0,1,0.1,0.2,0.3\n")
    actions = read_actions(path, fps=10, kind="pose", rotation="quaternion_wxyz")
    np.testing.assert_allclose(actions.values, [[0.1, 0.2, 0.3, 1, 0, 0, 0]])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n3\n", "row 3 .* has 1 cells"),
        ("a,b\n1,2\n3,x\n", "row 3 .*'b'"),
        ("a,b\n1,2\n3,nan\n", "row 1, column 1"),
        ("", "is empty"),
        ("time,a\n0,1\n0,2\n", "does not grow"),
    ],
)
def test_bad_csv_names_the_row(tmp_path, text, words) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    options = {} if "time" in text else {"fps": 10}
    with pytest.raises(InputError, match=words):
        read_actions(path, **options)


def test_parquet_lists_and_columns(tmp_path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    times = np.arange(4) / 20
    parquet.write_table(
        pyarrow.table(
            {
                "action": ROWS.tolist(),
                "observation.state": (2 * ROWS).tolist(),
                "timestamp": times,
                "frame_index": np.arange(4),
                "task": ["push"] * 4,
            }
        ),
        tmp_path / "a.parquet",
    )
    actions = read_actions(tmp_path / "a.parquet", kind="joint_delta")
    assert (actions.kind, actions.fps) == ("joint_delta", pytest.approx(20))
    np.testing.assert_allclose(actions.values, ROWS)
    state = read_actions(tmp_path / "a.parquet", key="observation.state")
    np.testing.assert_allclose(state.values, 2 * ROWS)
    table = pyarrow.table({"elbow": ROWS[:, 0], "wrist": ROWS[:, 1], "timestamp": times})
    parquet.write_table(table, tmp_path / "b.parquet")
    assert read_actions(tmp_path / "b.parquet").names == ("elbow", "wrist")


def test_what_is_no_action_file(tmp_path) -> None:
    for name in ("a.npz", "a.npy", "a.parquet"):
        (tmp_path / name).write_bytes(b"nonsense")
        with pytest.raises(InputError, match="not a readable"):
            read_actions(tmp_path / name, fps=10)
    (tmp_path / "a.txt").write_text("1")
    with pytest.raises(InputError, match=r"\.npz, \.npy, \.csv, \.parquet"):
        read_actions(tmp_path / "a.txt")
    with pytest.raises(InputError, match="does not exist"):
        read_actions(tmp_path / "none.npz")
    with pytest.raises(InputError, match=r"written as \.npz"):
        write_actions(tmp_path / "a.csv", Actions(kind="joint", values=ROWS, fps=1))
    np.save(tmp_path / "b.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="not a readable npy"):
        read_actions(tmp_path / "b.npy", fps=10)


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path) -> None:
    path = tmp_path / "excel.csv"
    path.write_bytes("\ufefftime,a\n0,1\n0.1,2\n".encode())
    assert read_actions(path).fps == pytest.approx(10)


@pytest.mark.parametrize(
    ("text", "words"),
    [("time,a\n", "no actions"), ("time,a\n0,1\n0.1,1\n5,1\n6,1\n", "evenly spaced")],
)
def test_tables_that_say_too_little(tmp_path, text: str, words: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        read_actions(path)


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_no_error_suggests_allowing_pickle(tmp_path, suffix: str) -> None:
    path = tmp_path / f"text{suffix}"
    path.write_text("not numbers")
    with pytest.raises(InputError) as caught:
        read_actions(path, fps=10)
    assert "pickle" not in str(caught.value)
