/**
 * What an upstream sends may be a page, the console lives on the same origin, and a form on any other page can post to the
 * API with a key of its own: no answer may run anything.
 */
// The bug behind these rows: an answer becomes a page.
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { createSite } from '../../lib/console/site.ts'
import { parseConfig } from '../../lib/config/config.ts'
import { createLogger } from '../../lib/base/log.ts'
import { browserTest } from '../console/support/browser.ts'
import { emptyCatalogue } from '../console/support/site.ts'
import { KEY, MODEL, open } from './support/gateway.ts'
import { answers, document, SPEECH, says } from './support/speech.ts'
import type { Headers, Script } from './support/upstream.ts'
import { TestClock } from '../support/clock.ts'

const POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"
const PAGE = '<!DOCTYPE html><title>theirs</title><script>window.ran = true</script><img src=x onerror="ran = true">'

/** With no content type at all when it is empty. */
const page =
  (status: number, type: string): Script =>
  call => {
    const headers: Headers = { 'content-length': String(PAGE.length), connection: 'close' }
    if (type !== '') headers['content-type'] = type
    call.start(status, headers)
    call.raw(PAGE)
  }

const raw = async (url: string, bytes: string): Promise<string> => {
  const { hostname, port } = new URL(url)
  const socket = net.connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.write(bytes)
  return (await buffer(socket)).toString()
}

t.test('every answer of the API says that it is no page', async t => {
  const s = await open(t, { config: { timeouts: { main: '1s' } } })
  const chat = SPEECH.chat.ask
  const rows: [what: string, script: Script, ask: Parameters<typeof s.ask>[0], status?: number][] = [
    ['an answer', answers(1, 1), document(), 200],
    ['an error of the upstream', page(400, 'text/html'), document(), 400],
    ['its last failure', page(500, 'text/html'), document(), 500],
    ['a page for an answer', page(200, 'text/html'), document()],
    ['an answer without a type', page(200, ''), document()],
    ['a count', page(200, 'text/html'), { ...SPEECH.messages.ask, path: '/v1/messages/count_tokens' }],
    ['no such path', says(200), { path: '/nowhere', body: '' }, 404],
    ['no key', says(200), { ...chat, headers: {} }, 401],
    ['no JSON', says(200), { ...chat, body: '{' }, 400],
  ]
  for (const listener of ['main', 'direct'] as const) {
    for (const [what, script, ask, status] of rows) {
      s.at('a').script = script
      const client = s.ask(ask, listener)
      await client.end()
      if (status !== undefined) t.equal(client.status, status, what)
      t.equal(client.answer.headers.get('x-content-type-options'), 'nosniff', `${what} at ${listener}`)
      t.equal(client.answer.headers.get('content-security-policy'), POLICY, `${what} at ${listener}`)
    }
    const key = `authorization: Bearer ${KEY}\r\n`
    for (const request of [
      `GET /v1/models HTTP/1.1\r\n${key}connection: close\r\n\r\n`,
      'OPTIONS /v1/messages HTTP/1.1\r\norigin: https://a.example\r\nconnection: close\r\n\r\n',
      `GET /v1/responses HTTP/1.1\r\n${key}upgrade: websocket\r\nconnection: upgrade, close\r\n\r\n`,
      'GET /api/hello HTTP/1.1\r\nconnection: close\r\n\r\n',
      'HEAD / HTTP/1.1\r\nconnection: close\r\n\r\n',
      'no HTTP\r\n\r\n',
      `GET / HTTP/1.1\r\nlong: ${'x'.repeat(70_000)}\r\n\r\n`,
    ]) {
      const heard = await raw(s.urls[listener], request)
      t.match(heard, /\r\nx-content-type-options: nosniff\r\n/i, request.slice(0, 30))
      t.ok(heard.includes(`content-security-policy: ${POLICY}\r\n`), request.slice(0, 30))
    }
  }
  s.at('a').script = () => {}
  const late = s.ask(document())
  await s.at('a').call(s.at('a').calls.length)
  s.clock.advance(2000)
  t.equal(await late.end(), 'whole')
  t.equal(late.status, 524)
  t.equal(late.answer.headers.get('content-security-policy'), POLICY)
})

t.test('a browser that would show the answer gets none', async t => {
  const s = await open(t)
  s.at('a').script = answers(1, 1)
  const navigate = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
  for (const listener of ['main', 'direct'] as const) {
    const client = s.ask(document({}, navigate), listener)
    await client.end()
    t.equal(client.status, 404)
    t.match(client.text, 'Invalid URL (POST /v1/chat/completions)')
    // not even its key is looked at, and not a byte of its body waited for
    const head = `POST /v1/messages?key=${KEY} HTTP/1.1\r\nsec-fetch-mode: navigate\r\ncontent-length: 9\r\n\r\n`
    const socket = net.connect(Number(new URL(s.urls[listener]).port), '127.0.0.1')
    socket.write(head)
    const first = await new Promise<Buffer>(resolve => socket.once('data', resolve))
    t.match(first.toString(), /^HTTP\/1\.1 404 /)
    socket.destroy()
    const script = s.ask(document({}, { 'sec-fetch-mode': 'cors' }), listener)
    await script.end()
    t.equal(script.status, 200)
  }
  t.equal(s.at('a').calls.length, 2)
})

/** Another site: a form that posts to `action`. */
async function otherSite(t: Test, action: string): Promise<string> {
  const form = `<form method="post" enctype="text/plain" action="${action}">
    <input name='{"contents":[],"x":"' value='"}'></form>`
  return listen(t, (_req, res) => void res.setHeader('content-type', 'text/html').end(form))
}

/** The gateway as a browser sees it that does not say what it wants an answer for, as over plain HTTP and in old ones. */
const withoutSecFetch = (t: Test, gateway: string): Promise<string> =>
  listen(t, (req, res) => {
    const headers = Object.fromEntries(Object.entries(req.headers).filter(([name]) => !name.startsWith('sec-fetch')))
    const ask = http.request(gateway + req.url, { method: req.method as string, headers }, answer => {
      res.writeHead(answer.statusCode as number, answer.headers)
      answer.pipe(res)
    })
    req.pipe(ask)
  })

async function listen(t: Test, handler: http.RequestListener): Promise<string> {
  const server = http.createServer(handler)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

browserTest(
  t,
  'in a browser: a form elsewhere posts with a key of its own, and nothing runs on our origin',
  async (t, newcomer) => {
    const config = parseConfig('{}', 'test.yaml', {})
    const s = await open(t, {
      pages: createSite({
        config: () => config,
        log: createLogger('silent'),
        clock: new TestClock(),
        ipOf: () => '192.0.2.1',
        catalogue: () => emptyCatalogue(t),
      }),
    })
    const { page: tab, visit, requested } = await newcomer({ language: 'en-US' })
    const path = `/v1beta/models/${MODEL}:generateContent?key=${KEY}`
    for (const gateway of [s.urls.main, s.urls.direct, await withoutSecFetch(t, s.urls.main)]) {
      const shown = gateway !== s.urls.main && gateway !== s.urls.direct
      const form = await otherSite(t, gateway + path)
      for (const [status, type] of [
        [200, 'text/html'],
        [400, 'text/html'],
        [500, 'text/html; charset=utf-8'],
        [200, ''],
        [400, 'application/xhtml+xml'],
      ] as const) {
        s.at('a').script = page(status, type)
        const asked = s.at('a').calls.length
        await tab.goto(form)
        await tab.evaluate('document.forms[0].submit()')
        await tab.waitForURL(url => url.href.startsWith(gateway))
        t.equal(await tab.evaluate('typeof window.ran'), 'undefined', `${status} ${type}`)
        t.equal(s.at('a').calls.length - asked, shown ? 1 : 0)
        if (shown) t.equal(await tab.evaluate('self.origin'), 'null', 'an origin of its own')
      }
    }
    const asked = requested.length
    await visit(`${s.urls.main}/console/connect`)
    await tab.fill('#secret', KEY)
    await tab.click('form button[type=submit]')
    await tab.getByText(MODEL, { exact: true }).waitFor()
    t.match(requested.slice(asked).join(' '), /\/v1\/models/)
  },
)
