"""The service: protects tables over HTTP, each job in a process of its own, with the same results.

`application.create_app` makes the ASGI application, `serving.serve` runs it. Jobs, files and their owners
stand in one folder of state (`job_folders`) and one SQLite file (`store`); `supervisor` runs the queue,
`worker` is what it starts. Routes have no logic of their own: they call the `desk`.
"""
