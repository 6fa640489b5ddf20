/** Another secret for a key, given by the admin API of a gateway with two workers: every worker follows. */
import t from 'tap'
import { KEY, startGateway } from '../support/gateway.ts'

const gateway = await startGateway({ config: { workers: 2 } })
t.teardown(() => gateway.stop())

/** Statuses on both addresses, over several connections, so that every worker is asked. */
async function statuses(secret: string): Promise<number[]> {
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, i) =>
      fetch(`${i % 2 ? gateway.main : gateway.direct}/v1/models`, {
        headers: { authorization: `Bearer ${secret}`, connection: 'close' },
      }),
    ),
  )
  await Promise.all(answers.map(answer => answer.arrayBuffer()))
  return [...new Set(answers.map(answer => answer.status))]
}

const roll = (grace: unknown) => gateway.admin('POST', '/admin/keys/1/roll', { grace })

t.test('roll', async t => {
  t.same(await statuses(KEY), [200])
  const first = await roll('1h')
  const one = String(first['secret'])
  t.match(first, { id: 1, secret: /^sk-[0-9A-Za-z]{48}$/, hint: `sk-…${one.slice(-4)}`, old_secret_ends_at: /^\d{4}-/ })
  t.same([await statuses(KEY), await statuses(one)], [[200], [200]])
  const second = await roll(0)
  t.equal(second['old_secret_ends_at'], null)
  t.same([await statuses(KEY), await statuses(one), await statuses(String(second['secret']))], [[401], [401], [200]])
  for (const grace of ['2h', 1, null, undefined]) await t.rejects(roll(grace), /400 .*grace: expected 0, 1h or 24h/)
  const { data } = await gateway.admin('GET', '/admin/actions?operation=keys.roll')
  t.equal(data.length, 2)
  const listed = JSON.stringify([data, await gateway.admin('GET', '/admin/keys?account=rich')])
  for (const secret of [one, String(second['secret'])]) t.notOk(listed.includes(secret.slice(3, -4)))
})
