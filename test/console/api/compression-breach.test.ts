/** Which answers are compressed: none that holds a secret, because its length would tell something of it (BREACH). */
import http from 'node:http'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { z } from 'zod'
import { OPERATIONS } from '../../../lib/console/api/rows.ts'
import { micro } from '../../../lib/base/money.ts'
import { openConsole } from '../support/console.ts'

/** Members of answers that are secrets, or hold one. */
const SECRETS = /^(secret|token|link|url|codes|recovery_codes|password|key_uri|uri|hash|csrf)$/
/** Addresses that everybody may know. */
const NO_SECRET = new Set(['url of site.links', 'link of site'])

function namesOf(body: unknown): string[] {
  if (!(body instanceof z.ZodType)) return []
  const names = new Set<string>()
  const walk = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return
    for (const [name, value] of Object.entries(part)) {
      if (name === 'properties') for (const member of Object.keys(value as object)) names.add(member)
      walk(value)
    }
  }
  walk(z.toJSONSchema(body, { io: 'output', unrepresentable: 'any' }))
  return [...names]
}

t.test('no call whose answer may be compressed gives a secret', async t => {
  const found: string[] = []
  for (const { id, call, answer } of OPERATIONS) {
    const secrets = namesOf(answer.body).filter(name => SECRETS.test(name) && !NO_SECRET.has(`${name} of ${id}`))
    if (secrets.length > 0) found.push(id)
    if (call.startsWith('GET ')) t.same(secrets, [], id)
  }
  for (const known of ['keys.create', 'keys.roll', 'tokens.create', 'factor.start'])
    t.ok(found.includes(known), `the test knows that ${known} gives a secret: ${found}`)
})

/** As `fetch` does not do it: the body as it came. */
const ask = (url: string, method: string, headers: http.OutgoingHttpHeaders, body?: string) =>
  new Promise<{ status: number; headers: http.IncomingHttpHeaders; body: Buffer }>((resolve, reject) => {
    const sent = http.request(url, { method, headers }, async reply =>
      resolve({ status: reply.statusCode as number, headers: reply.headers, body: await buffer(reply) }),
    )
    sent.on('error', reject).end(body)
  })

t.test('long answers to reads are compressed, answers that make a secret never are', async t => {
  const house = await openConsole(t)
  const account = await house.account('acme', micro(1_000_000))
  const { cookies } = await house.person('ann@example.com', { in: { account, role: 'owner' } })
  const headers = {
    cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    'sec-fetch-site': 'same-origin',
    'content-type': 'application/json',
  }
  const root = `${house.url}/console/api/accounts/${account.publicId}`
  for (let i = 0; i < 12; i++) {
    const sent = { ...headers, 'accept-encoding': 'br, gzip' }
    const made = await ask(
      `${root}/keys`,
      'POST',
      sent,
      JSON.stringify({
        name: `key ${i}`,
        group: 'default',
        models: Array.from({ length: 8 }, (_, at) => `${at}${'x'.repeat(180)}`),
      }),
    )
    t.equal(made.status, 201, made.body.toString())
    t.equal(made.headers['content-encoding'], undefined, 'it holds the secret of a key')
    t.ok(JSON.parse(made.body.toString()).secret)
    t.ok(made.body.length > 0)
  }
  const rows: [accepted: string | undefined, encoding: string | undefined, back: (body: Buffer) => Buffer][] = [
    ['br, gzip', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    [undefined, undefined, body => body],
  ]
  const plain = (await ask(`${root}/keys`, 'GET', headers)).body.toString()
  for (const [accepted, encoding, back] of rows) {
    const sent = accepted === undefined ? headers : { ...headers, 'accept-encoding': accepted }
    const got = await ask(`${root}/keys`, 'GET', sent)
    t.equal(got.headers['content-encoding'], encoding)
    t.equal(got.headers.vary, 'accept-encoding')
    t.equal(got.headers['content-length'], String(got.body.length))
    t.equal(back(got.body).toString(), plain)
  }
  const short = await ask(`${house.url}/console/api/address`, 'GET', { ...headers, 'accept-encoding': 'br' })
  t.same([short.status, short.headers['content-encoding']], [200, undefined], 'what fits one packet stays as it is')
})

t.test('what everybody may read is compressed once, with one tag', async t => {
  const house = await openConsole(t)
  for (const path of ['/console', '/console/models', '/console/openapi.json', '/openapi.json']) {
    const [br, plain] = await Promise.all(
      ['br', 'identity'].map(accepted => ask(house.url + path, 'GET', { 'accept-encoding': accepted })),
    )
    t.equal(br?.headers['content-encoding'], 'br', path)
    t.same(brotliDecompressSync(br?.body as Buffer), plain?.body)
    t.equal(br?.headers.etag, plain?.headers.etag)
    t.match(br?.headers.vary, /accept-encoding/)
    const { etag } = plain?.headers ?? {}
    if (path !== '/openapi.json') {
      const again = await ask(house.url + path, 'GET', { 'accept-encoding': 'br', 'if-none-match': etag as string })
      t.same([again.status, again.body.length], [304, 0], 'who has it is not sent it again')
    }
    const head = await ask(house.url + path, 'HEAD', { 'accept-encoding': 'br' })
    t.same([head.headers['content-length'], head.body.length], [String(br?.body.length), 0])
  }
})
