/** With `timeouts.leave` a gateway that is told to end is left out by balancers before it refuses anybody. */
import t from 'tap'
import { KEY, startGateway } from '../support/gateway.ts'
import { until } from '../support/wait.ts'

for (const workers of [1, 2])
  t.test(`${workers} workers`, async t => {
    const gateway = await startGateway({ config: { workers, timeouts: { leave: '1h' } } })
    const readyz = async () => {
      const answer = await fetch(`${gateway.ops}/readyz`)
      return { status: answer.status, ...((await answer.json()) as object) }
    }
    t.match(await readyz(), { status: 200, ready: true })
    gateway.child.kill('SIGTERM')
    await until('balancers are told', async () => (await readyz()).status === 503)
    t.match(await readyz(), { ready: false, reason: 'leaving' })
    const answer = await fetch(`${gateway.main}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ model: 'beta-4.7', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] }),
    })
    t.equal(answer.status, 200, 'whoever comes meanwhile is served')
    await answer.text()
    // a second signal ends it at once
    await gateway.stop()
  })
