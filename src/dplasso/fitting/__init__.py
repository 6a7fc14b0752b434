"""From public facts to a fitted model, in three steps that every solver shares.

A `Request` holds the public facts of one fit. `registry.plan` chooses the solver and turns the
request into a `Plan`: the releases, their noise and their cost. `registry.prepare` turns a plan and
rows into a `Task` that has drawn nothing yet. ``task.bounded().run()`` draws the noise and returns
a `Fitted`: weights, intercepts, released values, and how new rows are mapped.

Each solver has one file and is registered in `registry`. No solver depends on an estimator.
"""
