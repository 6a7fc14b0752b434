"""Laws of the model that replays fits on a cluster."""

import math
from dataclasses import replace

import pytest
from harness import cluster_model as model

COSTS = model.Costs(
    entries=((2e4, 2e-9), (3e6, 6e-9)),
    column=2e-9,
    row=3e-9,
    draw=12e-9,
    move=2e-9,
    add=1e-9,
    copy=0.3e-9,
    call=0.0,
    answer=2e-4,
    latency=1e-3,
)
ROUNDS = model.RoundCosts(entry=2e-9, column=20e-9, row=5e-9, moved=2e-9, stored=1e-3)
SHAPE = model.Shape(1_000_000, 1_000_000, 100_000_000)
MACHINE = {"cores": 4, "threads": 4, "efficiency": 0.6, "bandwidth": 1e9}


def step(parts, costs=COSTS, **facts):
    cluster = model.Cluster.of(len(parts), **(MACHINE | facts))
    return model.row_step(SHAPE, parts, costs, cluster), cluster


@pytest.mark.parametrize("actors", [1, 2, 7, 40])
@pytest.mark.parametrize("bandwidth", [1e8, 1e9, 1e12])
def test_equal_actors_take_what_a_formula_says(actors, bandwidth):
    parts = model.shares(SHAPE, actors)
    found, _ = step(parts, bandwidth=bandwidth)
    speed = MACHINE["threads"] * MACHINE["efficiency"]
    sent, added = SHAPE.vector / bandwidth, SHAPE.columns * COSTS.add / speed
    work = (COSTS.sums(parts[0]) + SHAPE.vector * COSTS.copy) / speed
    begin = SHAPE.vector * COSTS.copy / speed + sent + COSTS.latency
    # Answers follow each other as questions did; whichever is slower, network or driver, decides.
    summed = begin + work + sent + COSTS.latency + (actors - 1) * max(sent, added) + added
    assert found.summed == pytest.approx(summed, rel=1e-12)
    noise = SHAPE.columns * (COSTS.draw + COSTS.move) / speed
    assert found.seconds == pytest.approx(summed + noise, rel=1e-12)


@pytest.mark.parametrize("actors", [1, 5, 32])
def test_every_byte_that_is_sent_is_received(actors):
    found, cluster = step(model.shares(SHAPE, actors))
    assert found.to_driver == found.from_driver == actors * SHAPE.vector
    ranges = model.Cluster.of(actors, **MACHINE)
    model.range_step(SHAPE, model.shares(SHAPE, actors), COSTS, ranges)
    columns = model.Cluster.of(actors, **MACHINE)
    model.column_round(SHAPE, actors, COSTS, ROUNDS, columns, 1000.0)
    for one in (cluster, ranges, columns):
        machines = [one.driver, *one.actors]
        assert sum(m.sent for m in machines) == pytest.approx(sum(m.received for m in machines))
    # All sums but an actor's own range go out, and so do weights.
    for machine in ranges.actors:
        assert machine.sent == pytest.approx(2 * SHAPE.vector * (actors - 1) / actors)


def test_more_load_never_makes_a_step_shorter():
    before = 0.0
    for slow in (1.0, 1.1, 2.0, 10.0):
        factors = [1.0, slow, 1.0, 1.0]
        found, _ = step(model.shares(SHAPE, 4, factors))
        assert found.seconds > before
        before = found.seconds
    even, _ = step(model.shares(SHAPE, 4))
    uneven = [model.Part(p.rows, p.columns, p.entries * f) for p, f in _uneven()]
    assert step(uneven)[0].worked > even.worked


def _uneven():
    return zip(model.shares(SHAPE, 4), (0.5, 0.5, 1.0, 2.0), strict=True)


def test_cores_do_all_the_work_and_no_more():
    parts = model.shares(SHAPE, 6)
    found = model.row_step(SHAPE, parts, COSTS, model.Cluster.local(6, 2))
    local = model.Cluster.local(6, 2)
    again = model.row_step(SHAPE, parts, COSTS, local)
    assert again == found
    work = sum(COSTS.sums(part) for part in parts) + 7 * SHAPE.vector * COSTS.copy
    work += SHAPE.columns * (6 * COSTS.add + COSTS.draw + COSTS.move)
    assert local.driver.busy == pytest.approx(work)
    assert local.driver.sent == local.driver.received == 0.0
    assert work / 2 <= found.seconds <= work + 1.0


def test_a_driver_slower_than_its_network_keeps_answers_waiting():
    slow_adds = model.Costs(**(vars(COSTS) | {"add": 1e-6}))
    quick, _ = step(model.shares(SHAPE, 10), bandwidth=math.inf)
    slow, _ = step(model.shares(SHAPE, 10), slow_adds, bandwidth=math.inf)
    assert SHAPE.vector <= quick.waiting <= slow.waiting == 10 * SHAPE.vector


def test_shares_have_fewer_columns_with_entries_the_more_actors_there_are():
    found = [model.present_columns(SHAPE, actors) for actors in (1, 2, 10, 100, 1000)]
    assert found[0] == SHAPE.columns
    assert all(a > b for a, b in zip(found, found[1:], strict=False))
    assert all(
        count >= SHAPE.columns / actors
        for count, actors in zip(found, (1, 2, 10, 100, 1000), strict=True)
    )


def test_a_lazy_round_waits_for_each_of_its_trials():
    def seconds(trials):
        cluster = model.Cluster.of(4, **MACHINE)
        return model.column_round(SHAPE, 4, COSTS, ROUNDS, cluster, 100.0, trials).seconds

    one, two = seconds([50.0]), seconds([50.0, 50.0])
    assert two - one == pytest.approx(one - seconds([]), rel=1e-3)
    assert two - one > 2 * COSTS.latency


def test_more_cores_make_no_call_and_no_disk_quicker():
    def seconds(cores):
        machine = MACHINE | {"cores": cores, "threads": cores}
        cluster, costs = model.Cluster.of(2, **machine), replace(COSTS, call=3e-3)
        return model.column_round(SHAPE, 2, costs, ROUNDS, cluster, 0.0, [0.0]).seconds

    assert seconds(1) == pytest.approx(seconds(16))
    # A trial and the release are told by a call each, and messages wait for each other.
    assert seconds(16) > 2 * 3e-3 + ROUNDS.stored + 4 * COSTS.latency
