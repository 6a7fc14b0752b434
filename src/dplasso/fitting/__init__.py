"""From public facts to a fitted model, in three steps that every solver shares.

A `Request` holds the public facts of one fit. `fitters.plan` decides the solver and turns the
request into a `Plan`: what will be released, with how much noise, at which cost. `fitters.prepare`
turns a plan and rows into a `Task` that has drawn nothing yet. ``task.bounded().run()`` draws, and
returns a `Fitted`: weights, intercepts, released values, and how new rows are mapped.

One file per solver, registered in `fitters`; none of them sees an estimator.
"""
