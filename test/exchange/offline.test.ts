/** A model that is temporarily offline: who is refused, how, and what the model lists say. */
import t from 'tap'
import { KEY, SLOW_KEY } from '../support/gateway.ts'
import { openGateway } from '../support/open-gateway.ts'

const MODEL = 'beta-4.7'
const PRICE = { input: 2, output: 8, cache_read: 0.5 }
const KEYS = { default: KEY, slow: SLOW_KEY }
type Group = keyof typeof KEYS

t.test('refused as if no channel were there, and not listed, in the groups that are named', async t => {
  const gateway = await openGateway()
  t.teardown(() => gateway.stop())
  const ask = async (group: Group, path: string, body: object) => {
    const response = await fetch(gateway.main + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEYS[group]}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL, ...body }),
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  const listed = async (group: Group, path = '/v1/models') => {
    const response = await fetch(gateway.main + path, { headers: { authorization: `Bearer ${KEYS[group]}` } })
    return (await response.text()).includes(MODEL)
  }
  await gateway.admin('PATCH', '/admin/accounts/slow', { rate: { requests: 0, minutes: 1 } })
  const rows: [offline: unknown, expected: Record<Group, boolean>][] = [
    [false, { default: true, slow: true }],
    [true, { default: false, slow: false }],
    [['slow'], { default: true, slow: false }],
    [['slow', 'default'], { default: false, slow: false }],
    [[], { default: true, slow: true }],
    [null, { default: true, slow: true }],
  ]
  for (const [offline, expected] of rows) {
    await gateway.admin('PUT', `/admin/models/${MODEL}`, { price: PRICE, offline })
    for (const group of ['default', 'slow'] as const) {
      const what = `${JSON.stringify(offline)} in ${group}`
      const chat = await ask(group, '/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }] })
      t.equal(chat.status, expected[group] ? 200 : 503, what)
      t.equal(await listed(group), expected[group], `${what}: the list`)
      t.equal(await listed(group, '/v1beta/models'), expected[group], `${what}: the native list`)
      if (expected[group]) continue
      t.match(chat.text, `分组 ${group} 下模型 ${MODEL} 无可用渠道(distributor)`)
      t.match(chat.headers.get('retry-after'), /^\d+$/)
      const continued = await ask(group, '/v1/responses', { input: 'hi', previous_response_id: 'resp_1' })
      t.equal(continued.status, 503, `${what}: an answer that is continued`)
      const count = await ask(group, '/v1/messages/count_tokens', { messages: [{ role: 'user', content: 'hi' }] })
      t.equal(count.status, 200, `${what}: a count is estimated`)
    }
  }
  await t.rejects(gateway.admin('PUT', `/admin/models/${MODEL}`, { offline: ['nowhere'] }), {
    message: /: 400 .*"offline: there is no group nowhere/,
  })
})
