/** Keys and passwords that ended up where they do not belong: at an upstream, in the log, in a problem that `check` prints. */
// The bug behind these rows: secrets that came out.
import { createHash } from 'node:crypto'
import net from 'node:net'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { systemClock } from '../../lib/base/clock.ts'
import { applyCatalog } from '../../lib/operations/catalogue/apply.ts'
import { readChannel } from '../../lib/operations/catalogue/channels.ts'
import { openStore } from '../../lib/store/store.ts'
import { parseCatalog } from '../../lib/catalog-file/catalog.ts'
import { ConfigError, parseConfig } from '../../lib/config/config.ts'
import { KEY, MODEL, OTHER_KEY, open } from './support/gateway.ts'
import { answers, document } from './support/speech.ts'
import { memoryStore } from '../support/store.ts'

t.test('a key in the query goes upstream and into the log in no spelling', async t => {
  const s = await open(t)
  s.at('a').script = answers(1, 1)
  const path = `/v1beta/models/${MODEL}:generateContent`
  const percent = [...KEY].map(c => `%${c.charCodeAt(0).toString(16)}`).join('')
  for (const query of [
    `?key=${KEY}`,
    `??key=${KEY}`,
    `?a=1?key=${KEY}`,
    `?a=1;key=${KEY}`,
    `?%6bey=${KEY}`,
    `?KEY=${KEY}`,
    `?a=1&key=${KEY}&key=${KEY}`,
    `?a=${percent}`,
    `?k%65y=${percent}`,
    `?beta=true%3Fkey=${KEY}`,
    `&key=${KEY}`,
    `;key=${KEY}`,
    `%3fkey=${KEY}`,
    `/${KEY}`,
    `/${percent}`,
    `%253fkey%253d${KEY}`,
  ]) {
    const client = s.ask({ path: path + query, headers: { 'x-goog-api-key': KEY }, body: { contents: [] } })
    await client.end()
    t.ok([200, 404].includes(client.status), `${query}: ${client.status}`)
  }
  const seen = [...s.at('a').calls.map(call => call.head), ...s.logged.map(line => JSON.stringify(line))]
  t.ok(s.at('a').calls.length > 8 && s.logged.length > 15)
  for (const text of seen) t.notOk(unescaped(text).includes(KEY), text)
})

const unescaped = (text: string): string =>
  text.replace(/%25/g, '%').replace(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

t.test('a path takes no more than a line of the log', async t => {
  const s = await open(t)
  for (const path of [`/${'x'.repeat(60_000)}`, `/${'%25'.repeat(20_000)}`]) await s.ask({ path, body: '' }).end()
  t.ok(s.logged.every(line => String(line['path']).length <= 201))
})

t.test('what one account calls a repetition is none of another', async t => {
  const s = await open(t)
  s.at('a').script = answers(1, 1)
  const sent = async (key: string, value: string) => {
    const headers = { authorization: `Bearer ${key}`, 'idempotency-key': value }
    await s.ask({ ...document(), headers }).end()
    return s.at('a').calls.at(-1)?.header('idempotency-key')
  }
  t.equal(await sent(KEY, 'order-1'), 'gw1-order-1')
  t.equal(await sent(OTHER_KEY, 'order-1'), 'gw2-order-1')
  t.equal(await sent(KEY, 'x'.repeat(251)), `gw1-${'x'.repeat(251)}`)
  const long = 'x'.repeat(252)
  t.equal(await sent(KEY, long), `gw1-${createHash('sha256').update(long).digest('hex')}`)
})

const SECRET = 'Zk3Tq9vRw7Lp2Xn8'

/** What is said about a text that is wrong. */
function problems(read: () => unknown): string {
  try {
    read()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.message
  }
  return ''
}

t.test('a mistyped catalogue is not quoted where a secret may stand', t => {
  const channel = (more: string) =>
    `channels:\n  - { name: a, base_url: 'https://up.example', protocols: [chat], groups: [default], models: [m], ${more} }`
  for (const text of [
    channel(`keys: ${SECRET}`),
    channel('keys: 1234567890123'),
    channel(`keys: [${SECRET}]`),
    channel(`keys: { ${SECRET}: 1 }`),
    channel(`key: [${SECRET}]`),
    channel(`key: { ${SECRET}: 1 }`),
    channel(`key: "${SECRET} x"`),
    channel(`key: k, auth: ${SECRET}`),
    channel(`key: k, auth: { header: "Bearer ${SECRET}" }`),
    channel(`key: k, headers: "x-api-key ${SECRET}"`),
    channel(`key: k, headers: { host: "=${SECRET}" }`),
    channel(`key: k, query: "key=${SECRET}"`),
    channel(`key: k, query: { key: ${SECRET} }`),
    channel(`key: k, paths: { chat: "/x?key=${SECRET}" }`),
    channel(`key: k, pass_headers: ["authorization: ${SECRET}"]`),
    channel(`key: k, proxy: "http//u:${SECRET}@p"`),
    channel(`key: k, ca: ${SECRET}`),
    channel(`key: k, weight: ${SECRET}`),
    channel(`key: k, http2: ${SECRET}`),
    channel(`key: k, ${SECRET}: 1`),
    channel(`key: "\${NO_SUCH_NAME-${SECRET}}"`),
    channel(`key: k, weight: "\${NO_SUCH_NAME:-pass word}"`).replace('pass word', SECRET),
    ...[`https://u:${SECRET}@up.example`, `https://up.example?key=${SECRET}`, SECRET, `https//u:${SECRET}@up`].map(
      url => channel('key: k').replace('https://up.example', url),
    ),
    channel('key: k').replace('https://up.example', 'https://u:hunter2@up.example'),
    channel('key: k').replace('[chat]', SECRET),
    `keys:\n  - { account: a, name: k, secret: '${SECRET}' }`,
    `keys: ${SECRET}`,
    `keys:\n  - ${SECRET}`,
    `channels:\n  - key: ${SECRET}\n    ${SECRET}\n   x: [`,
    `channels:\n  - key: "a" "${SECRET}"`,
    `channels:\n  - key: !${SECRET} x\n  - }${SECRET}`,
  ]) {
    const said = problems(() => parseCatalog(text, 'c.yaml', {}))
    t.match(said, /^c\.yaml:\d+:\d+: /, text)
    t.notOk(said.includes(SECRET) || said.includes('hunter2') || said.includes('1234567890123'), said)
  }
  t.match(
    problems(() => parseCatalog(channel('key: k, wieght: 3, priority: high'), 'c.yaml', {})),
    /wieght: expected one of .* \(did you mean weight\?\), found "wieght"\n.*priority: expected a whole .* found "high"/s,
    'what is no secret is shown all the same',
  )
  t.end()
})

t.test('the password of a store is not said, whatever it holds', async t => {
  const secret = 'x'
  for (const url of [
    'mysql://u:hunt/er2@h:3306/d',
    'mysql://u:12/hunter2@h:3306/d',
    'mysql://u:hunt?er2@h:3306/d',
    'mysql://u:12/d?hunter2@h/d',
    'mysql://u:hunt#er2@h:3306/d',
    'mysql://u:12/d#hunter2@h/d',
    'mysql://u:hunter2%@h:3306/d',
    'mysql://u:hunter2@h:99999/d',
    'mysql://u:hunter2@/d',
    'mysqll://u:hunter2@h/d',
    'mysql//u:hunter2@h/d',
    'hunter2',
  ]) {
    for (const text of [`store: '${url}'`, `store: [${JSON.stringify(url)}]`]) {
      const said = problems(() => parseConfig(text, 'g.yaml', {}))
      t.match(said, /^g\.yaml:1:8: store: expected "sqlite:PATH"/, text)
      t.notMatch(said, /hunt|er2/, said)
    }
    let failure: unknown = null
    const store = (() => {
      try {
        return openStore(url, { secret })
      } catch (error) {
        failure = error
        return null
      }
    })()
    await store?.close()
    t.notMatch(JSON.stringify(failure, failure === null ? [] : Object.getOwnPropertyNames(failure)), /hunt|er2/, url)
  }
  for (const url of ['mysql://u:hunt%2Fer2@h:3306/d?ssl_ca=/etc/ca.pem', 'mysql://u:a:b@h/d', 'mysql://u:a@b@h/d'])
    t.equal(parseConfig(`store: '${url}'`, 'g.yaml', {}).store, url)
})

t.test(
  'a name that is no text for all of the world is refused: a path or a header could not be made of it',
  async t => {
    const store = await memoryStore()
    t.teardown(() => store.close())
    const names = ['\ud800', 'a\udc00b', 'a\nb', 'a\u0000', ' a', 'x'.repeat(191)]
    const row = (more: object) => ({
      name: 'a',
      base_url: 'https://up.example',
      key: 'k',
      protocols: ['generate'],
      groups: ['default'],
      models: ['m'],
      ...more,
    })
    for (const name of names) {
      for (const file of [
        { channels: [row({ models: { m: name } })] },
        { channels: [row({ models: [name] })] },
        { channels: [row({ name })] },
        { channels: [row({ groups: [name] })] },
        { channels: [row({ headers: { 'x-a': `=${name}\ud800` } })] },
        { channels: [row({ paths: { generate: `/{model}/${name}\ud800:{verb}` } })] },
        { channels: [row({ query: { a: `${name}\ud800` } })] },
        { models: [{ name, price: { input: 1, output: 1 } }] },
        { groups: [{ name }] },
        { accounts: [{ name }] },
        { keys: [{ account: 'a', name, secret: 'sk-x' }] },
        { keys: [{ account: 'a', name: 'k', secret: 'sk-x', models: [name] }] },
      ])
        t.not(
          problems(() => parseCatalog(JSON.stringify(file), 'c', {})),
          '',
          JSON.stringify(file),
        )
    }
    const long = 'x'.repeat(5000)
    for (const more of [
      { models: { m: '\ud800' } },
      { name: 'a\udc00' },
      { base_url: `https://up.example/${long}` },
      { key: long },
      { headers: { 'x-a': `=${long}` } },
      { headers: { [long]: 'x-a' } },
      { pass_headers: [long] },
      { auth: { header: long } },
      { paths: { generate: `/{model}${long}:{verb}` } },
      { query: { a: long } },
      { query: { a: '\ud800' } },
    ])
      t.throws(() => readChannel(row(more)), /expected/, JSON.stringify(more).slice(0, 60))
    await applyCatalog(
      store,
      parseCatalog(JSON.stringify({ channels: [row({ models: { m: '😀é' } })] }), 'c', {}),
      systemClock,
    )
    t.equal((await store.catalogue.read()).channels.length, 1)
  },
)

t.test('more headers than are read: none of them is overlooked', async t => {
  const s = await open(t)
  const ask = async (count: number) => {
    const headers = Array.from({ length: count }, (_, i) => `x-${i}: 1\r\n`).join('')
    const socket = net.connect(Number(new URL(s.urls.main).port), '127.0.0.1')
    socket.write(`GET /v1/models HTTP/1.1\r\n${headers}authorization: Bearer ${KEY}\r\nconnection: close\r\n\r\n`)
    return Number((await buffer(socket)).toString().slice(9, 12))
  }
  t.equal(await ask(100), 200)
  t.equal(await ask(490), 200)
  for (const count of [499, 600, 3000]) t.equal(await ask(count), 400, `${count} headers`)
})
