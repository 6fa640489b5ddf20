/** A reload took a new `store`, `journal` and the like into new workers, while the primary kept the old ones. */
// The bug behind these rows: a reload moves the books.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import t from 'tap'
import { KEY, startGateway } from '../support/gateway.ts'
import { freePorts } from '../support/ports.ts'

const BIN = new URL('../../bin/gateway', import.meta.url).pathname

for (const workers of [1, 2])
  t.test(`workers: ${workers}`, async t => {
    const gateway = await startGateway({ config: { workers } })
    t.teardown(() => gateway.stop())
    const file = `${gateway.folder}/gateway.yaml`
    const now = JSON.parse(readFileSync(file, 'utf8'))
    const [main, direct, ops] = (await freePorts(3)).map(port => `127.0.0.1:${port}`)
    const other = `${gateway.folder}/other`
    const next = {
      ...now,
      store: `sqlite:${other}.db`,
      journal: `${other}-journal`,
      journal_limit: '128MiB',
      secret: 'another-secret',
      listen: { main, direct, ops },
      workers: 3,
      hold: { output_tokens: 100 },
    }
    writeFileSync(file, JSON.stringify(next))
    execFileSync(BIN, ['apply', now.catalog, '--config', file])
    const lines = createInterface({ input: gateway.child.stdout as NodeJS.ReadableStream })
    const said: Record<string, unknown>[] = []
    const reloaded = new Promise<void>(resolve =>
      lines.on('line', line => {
        said.push(JSON.parse(line))
        if (said.at(-1)?.['msg'] === 'reloaded') resolve()
      }),
    )
    gateway.child.kill('SIGHUP')
    await reloaded
    t.match(said[0], { settings: ['store', 'secret', 'journal', 'journal_limit', 'listen', 'workers'] }, 'it says so')
    const answer = await fetch(`${gateway.main}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'beta-4.7', messages: [{ role: 'user', content: 'Hello!' }] }),
    })
    t.equal(answer.status, 200, 'the upstream key is still read')
    const id = answer.headers.get('x-request-id')
    await answer.text()
    const row = await gateway.usageRow({ request_id: id })
    t.ok(Number(row['charge']) > 0, 'it is charged in the store that the gateway began with')
    t.notOk(existsSync(`${other}-journal`), 'nothing is kept elsewhere')
    t.match(JSON.parse(execFileSync(BIN, ['audit', '--json', '--config', file], { encoding: 'utf8' })), {
      charges: '0.000000',
    })
  })
