/**
 * `gateway doctor`'s groups `console` and `client`: through a real TLS proxy that is good or spoils something, on what a browser and
 * a client of the gateway would meet.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { certificates, folderOf } from '../proxies/support.ts'
import { commandLine } from '../support/command-line.ts'
import { BIN, KEY, type OpenGateway } from '../support/gateway.ts'
import { openGateway } from '../support/open-gateway.ts'

interface Spoils {
  /** Changes the headers of a request on its way. */
  request?: (headers: http.IncomingHttpHeaders) => void
  /** Changes those of an answer. */
  answer?: (headers: http.IncomingHttpHeaders) => void
  /** Answers in the gateway's place. */
  instead?: (req: http.IncomingMessage, res: http.ServerResponse) => boolean
}

const folder = folderOf(t)
const files = certificates(folder)
const trusting = { NODE_EXTRA_CA_CERTS: files.cert }
const command = commandLine(trusting)

/** A gateway whose console is at a TLS proxy in this process. */
async function behindTls(t: Test) {
  let spoils: Spoils = {}
  let gateway: OpenGateway | null = null
  const proxy = https.createServer({ cert: readFileSync(files.cert), key: readFileSync(files.key) }, (req, res) => {
    if (spoils.instead?.(req, res)) return
    const headers = { ...req.headers }
    spoils.request?.(headers)
    const { method, url: path } = req
    const onward = http.request(`${gateway?.main}${path}`, { method: method as string, headers }, answer => {
      const back = { ...answer.headers }
      spoils.answer?.(back)
      res.writeHead(answer.statusCode as number, back)
      answer.pipe(res)
    })
    onward.on('error', () => res.destroy())
    req.pipe(onward)
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const url = `https://localhost:${(proxy.address() as AddressInfo).port}`
  gateway = await openGateway({ config: { public: { main: url, direct: url } } })
  t.teardown(async () => {
    proxy.closeAllConnections()
    proxy.close()
    await gateway?.stop()
  })
  const judged = (code: number | null, text: string) => {
    const { checks } = JSON.parse(text) as {
      checks: Record<'address' | 'check' | 'result' | 'says' | 'mend', string>[]
    }
    for (const { result, mend, says } of checks)
      t.equal(mend === '', result === 'ok', `what is wrong can be mended: ${says}`)
    return { code, text, checks }
  }
  const doctor = async (args: string[], key = KEY) => {
    const { status, stdout } = await command(['doctor', ...args, '--json'], folder, { env: { THE_KEY: key } })
    return judged(status, stdout)
  }
  /** With the key on standard input. */
  const typed = async (...args: string[]) => {
    const env = { ...process.env, ...trusting }
    const child = spawn(BIN, ['doctor', ...args, '--json'], { env, stdio: ['pipe', 'pipe', 'inherit'] })
    child.stdin.end(KEY)
    let text = ''
    child.stdout.on('data', chunk => (text += chunk))
    const [code] = await once(child, 'close')
    return judged(code, text)
  }
  return {
    url,
    gateway,
    spoil: (next: Spoils) => void (spoils = next),
    console: async () => {
      const { checks, code } = await doctor(['--config', `${gateway?.folder}/gateway.yaml`])
      return { code, checks: checks.filter(({ address }) => address === 'console') }
    },
    client: (base: string, key?: string) => doctor(['--base', base, '--key', 'THE_KEY'], key),
    typed,
  }
}

const resultsOf = (checks: readonly Record<string, string>[]) =>
  checks.map(({ check, result }) => `${check}: ${result}`)

t.test('console: address, page and cookies, as a browser meets them', async t => {
  const s = await behindTls(t)
  // the console is loaded when its first page is asked for, which on a busy machine may take longer than the doctor waits
  await (await fetch(`${s.gateway.main}/console`)).text()
  const well = await s.console()
  t.same(resultsOf(well.checks), ['main address: ok', 'direct address: ok', 'page: ok', 'cookies: ok'])
  t.equal(well.code, 0)

  s.spoil({
    answer(headers) {
      const cookies = headers['set-cookie'] ?? []
      if (cookies.length > 0)
        headers['set-cookie'] = cookies.map(line => line.replace('; Secure', '').replace('Path=/', 'Path=/x'))
      delete headers['content-security-policy']
    },
  })
  const ill = await s.console()
  t.equal(ill.code, 1)
  t.match(ill.checks, [
    {},
    {},
    { check: 'page', result: 'problem', says: /lose headers on the way: content-security-policy$/ },
    {
      check: 'cookies',
      result: 'problem',
      says: 'cookies are changed on the way: without path=/, without secure, with path=/x',
    },
  ])

  s.spoil({ instead: (_, res) => Boolean(res.writeHead(200, { 'content-type': 'text/plain' }).end('hello')) })
  t.match((await s.console()).checks.at(-1), { check: 'page', result: 'problem', says: /answers 200, and no page/ })
  s.spoil({ instead: req => Boolean(req.socket.destroy()) })
  t.match((await s.console()).checks.at(-1), { check: 'page', result: 'problem', says: /cannot be reached from here/ })
})

t.test('client: prefix, key, placement, protocol and clock', async t => {
  const s = await behindTls(t)
  const well = await s.client(s.url)
  const all = [
    'prefix: ok',
    'key: ok',
    'reach: ok',
    'clock: ok',
    'models: ok',
    ...['placement: ok', 'placement: ok', 'placement: ok'],
    ...['protocol: ok', 'protocol: ok', 'protocol: ok', 'protocol: ok'],
  ]
  t.same(resultsOf(well.checks), all)
  t.equal(well.code, 0)
  t.notMatch(well.text, KEY, 'the key is in no answer')
  t.same(resultsOf((await s.client(`${s.url}/v1/`)).checks), all, 'the base of OpenAI-compatible clients')
  const typed = await s.typed('--base', s.url, '--key', '-')
  t.same(resultsOf(typed.checks), all, 'the key on standard input')

  const bases: [base: string, key: string | undefined, says: object][] = [
    [
      `${s.url}/v1/chat/completions`,
      undefined,
      { check: 'prefix', result: 'problem', says: /appended by clients themselves/ },
    ],
    [`${s.url}/v1/messages/`, undefined, { check: 'prefix', mend: new RegExp(`take ${s.url}/v1, .* ${s.url}$`) }],
    [`${s.url}?x=1`, undefined, { check: 'prefix', says: 'a base address has no query' }],
    ['api.example', undefined, { check: 'prefix', result: 'problem', says: 'api.example is no address' }],
    [`${s.url}/other`, undefined, { check: 'reach', result: 'problem', says: /none of its paths begins so/ }],
    [s.url, `"${KEY}"`, { check: 'key', result: 'problem', says: /more than the key/ }],
    [s.url, `Bearer ${KEY}`, { check: 'key', result: 'problem', says: /more than the key/ }],
    [s.url, 'sk-a\u3000b', { check: 'key', result: 'problem', says: /no key has/ }],
    [s.url, '', { check: 'key', result: 'problem', says: 'it is empty' }],
    [s.url, 'sk-unknown-0123456789', { check: 'models', result: 'problem', says: /does not take the key/ }],
    [s.url, 'pk-unknown', { check: 'key', result: 'warning', says: /begin with sk-/ }],
  ]
  for (const [base, key, says] of bases) {
    const { checks, code } = await s.client(base, key)
    t.equal(code, 1, base)
    t.ok(
      checks.some(one => matches(one, says)),
      `${base} ${key}: ${JSON.stringify(checks)}`,
    )
  }

  s.spoil({ request: headers => void delete headers['x-api-key'] })
  t.match(
    (await s.client(s.url)).checks.filter(({ result }) => result !== 'ok'),
    [{ check: 'placement', result: 'problem', says: /^x-api-key is answered 401: clients of messages/ }],
  )
  s.spoil({
    instead: (req, res) => req.url === '/v1/responses' && Boolean(res.writeHead(404).end('nginx')),
    answer: headers => void (headers.date = new Date(Date.now() - 4 * 60_000).toUTCString()),
  })
  t.match(
    (await s.client(s.url)).checks.filter(({ result }) => result !== 'ok'),
    [
      { check: 'clock', result: 'warning', says: /differ by 2[34]\d s/ },
      { check: 'protocol', result: 'problem', says: /^responses: \S+ is answered 404/ },
    ],
  )
  s.spoil({ instead: (_, res) => Boolean(res.writeHead(200, { 'content-type': 'text/html' }).end('<html>')) })
  t.match((await s.client(s.url)).checks.at(-1), { check: 'reach', result: 'problem', says: /not as a gateway does/ })
})

const matches = (one: Record<string, string>, says: object): boolean =>
  Object.entries(says).every(([name, wanted]) =>
    wanted instanceof RegExp ? wanted.test(one[name] ?? '') : one[name] === wanted,
  )
