/** A body may take ten minutes, and what counted was what was true at its head: price, ban, cap, key and groups. */
// The bug behind these rows: changes during a slow upload.
import t from 'tap'
import { MODEL, NOTHING_LEFT, open, type Scene } from './support/gateway.ts'
import { answers, document } from './support/speech.ts'
import { limitOf, SETUP } from '../support/store.ts'
import { until } from '../support/wait.ts'

const ASK = document()
const BODY = JSON.stringify(ASK.body)

/** Status and text of a request whose world changes while its body comes. */
async function during(s: Scene, change: () => Promise<unknown>) {
  const open = s.services.openCount
  const client = s.ask({ ...ASK, headers: { ...ASK.headers, 'content-length': String(BODY.length) }, body: '{' })
  await until('the request is under way', () => s.services.openCount > open)
  await s.settled()
  await change()
  await s.follow()
  client.socket.write(BODY.slice(1))
  await client.end()
  return `${client.status} ${client.text}`
}

const key = async (s: Scene) => (await s.store.keys.list(1))[0] as Awaited<ReturnType<typeof s.store.keys.list>>[number]
const model = async (s: Scene) => (await s.store.catalogue.read()).models.find(({ name }) => name === MODEL)

const CHANGES: Record<string, [(s: Scene) => Promise<unknown>, RegExp]> = {
  nothing: [async () => {}, /^200/],
  'the account is banned': [s => s.store.accounts.update(1, { status: 'banned' }, SETUP), /^403 .*用户已被封禁/],
  'the account leaves the group': [
    s => s.store.accounts.update(1, { groups: [] }, SETUP),
    /^403 .*无权访问 default 分组/,
  ],
  'the key is deleted': [async s => s.store.keys.delete((await key(s)).id, SETUP), /^401 .*无效的令牌/],
  'the key is switched off': [async s => s.store.keys.update((await key(s)).id, { status: 'disabled' }, SETUP), /^401/],
  'the key expires': [async s => s.store.keys.update((await key(s)).id, { expiresAtMs: s.clock.now() }, SETUP), /^401/],
  'the key may not use the model': [
    async s => s.store.keys.update((await key(s)).id, { models: ['x'] }, SETUP),
    /^403 .*无权访问模型/,
  ],
  'the key gets a cap': [
    async s => s.store.keys.update((await key(s)).id, { cap: { limit: limitOf(1), atMs: 0 } }, SETUP),
    /^403 .*预扣费额度失败/,
  ],
  'the model is no longer priced': [s => s.store.catalogue.deleteModel(MODEL, SETUP), /^400 .*价格尚未/],
  'the channel goes': [s => s.store.catalogue.deleteChannel('a', SETUP), /^400 .*无可用渠道/],
}

for (const [name, [change, want]] of Object.entries(CHANGES)) {
  t.test(name, async t => {
    const s = await open(t)
    s.at('a').script = answers(100, 10)
    t.match(await during(s, () => change(s)), want)
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
  })
}

t.test('the price of the hold is the price of the charge', async t => {
  const s = await open(t)
  s.at('a').script = answers(100, 10)
  const row = (await model(s)) as NonNullable<Awaited<ReturnType<typeof model>>>
  await during(s, () => s.store.catalogue.putModel({ ...row, price: { input: 20_000_000, output: 0 } }, SETUP))
  t.match((await s.books()).rows, [{ charge: 2000 }])
})
