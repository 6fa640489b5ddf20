/** What costs nothing is refused as well when the account has nothing. */
import t from 'tap'
import { KEY, POOR_KEY, testCatalog } from '../support/gateway.ts'
import { openGateway } from '../support/open-gateway.ts'

const FREE = { name: 'beta-4.7', price: { input: 0, output: 0 } }

t.test('a free model: served at no charge, and not to an account without balance', async t => {
  const gateway = await openGateway({
    catalog: upstream => {
      const catalog = testCatalog(upstream) as { models: { name: string }[] }
      return { ...catalog, models: [...catalog.models.filter(({ name }) => name !== FREE.name), FREE] }
    },
  })
  t.teardown(() => gateway.stop())
  const ask = async (key: string) => {
    const answer = await fetch(`${gateway.main}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: FREE.name, messages: [{ role: 'user', content: 'hi' }] }),
    })
    return { status: answer.status, text: await answer.text() }
  }
  t.match(await ask(POOR_KEY), { status: 403, text: /额度/ })
  t.equal((await ask(KEY)).status, 200)
  t.match(await gateway.usage('rich', 1), [{ charge: '0.000000', basis: 'reported' }])
  t.match(await gateway.admin('GET', '/admin/audit'), { ok: true })
})
