/** `gateway doctor --public` behind a good proxy, behind a bad one, and where there is none. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import t from 'tap'
import { isProbeToken, PROBE_HEADER, PROBE_MS, PROBE_PATH, probeToken } from '../../lib/terms/probe.ts'
import { type FrontProxy, ourNginx } from '../proxies/support.ts'
import { BIN, type OpenGateway } from '../support/gateway.ts'
import { openGateway } from '../support/open-gateway.ts'
import { NGINX_MISSING } from '../support/proxies-missing.ts'

interface Check {
  address: string
  check: string
  result: string
  says: string
  mend: string
}

async function doctor(gateway: OpenGateway, urls: { main: string; direct: string }, ...more: string[]) {
  const args = [
    'doctor',
    '--public',
    '--config',
    `${gateway.folder}/gateway.yaml`,
    '--main',
    urls.main,
    '--direct',
    urls.direct,
  ]
  const child = spawn(BIN, [...args, ...more], {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: more.includes('--json') ? trusted : '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.on('data', chunk => (text += chunk))
  const [code] = await once(child, 'close')
  return { code, text, checks: more.includes('--json') ? (JSON.parse(text) as { checks: Check[] }).checks : [] }
}
let trusted = ''

/** By address and check. */
const results = (checks: readonly Check[]) =>
  Object.fromEntries(checks.map(one => [`${one.address} ${one.check}`, one.result]))
const both = (of: Record<string, string>) =>
  Object.fromEntries(
    ['main', 'direct'].flatMap(address => Object.entries(of).map(([check, result]) => [`${address} ${check}`, result])),
  )

const certOf = (proxy: FrontProxy) => path.join(proxy.folder, 'cert.pem')

t.test('behind the proxy that ships', { skip: NGINX_MISSING ?? false }, async t => {
  const gateway = await openGateway({ config: { trusted_proxies: ['127.0.0.1'] } })
  t.teardown(() => gateway.stop())
  const proxy = await ourNginx(t, gateway)
  trusted = certOf(proxy)
  t.teardown(() => void (trusted = ''))
  const { code, checks } = await doctor(gateway, proxy, '--json', '--silence', '500ms')
  t.same(
    results(checks),
    both({
      tls: 'ok',
      reach: 'ok',
      'stream, HTTP/1.1': 'ok',
      'stream, HTTP/2': 'ok',
      'body of 2 MB': 'ok',
      'body of 20 MB': 'ok',
      headers: 'ok',
      path: 'ok',
      address: 'ok',
      'silence of 0.5 s': 'ok',
    }),
    JSON.stringify(checks),
  )
  t.equal(code, 0)
})

t.test('behind one with every fault', { skip: NGINX_MISSING ?? false }, async t => {
  const gateway = await openGateway({ config: { trusted_proxies: ['0.0.0.0/0', '::/0'] } })
  t.teardown(() => gateway.stop())
  const proxy = await ourNginx(t, gateway, text =>
    text
      .replaceAll(' http2', '')
      .replaceAll(/client_max_body_size [^;]*;/g, '')
      .replaceAll(
        'proxy_buffering off;',
        'proxy_ignore_headers X-Accel-Buffering; proxy_hide_header retry-after; proxy_set_header anthropic-beta "";',
      )
      .replaceAll('proxy_set_header X-Forwarded-For $remote_addr;', '')
      .replaceAll(/proxy_read_timeout 660s;/g, 'proxy_read_timeout 1s;')
      .replaceAll(/proxy_pass (\S+);/g, 'proxy_pass $1/;'),
  )
  trusted = certOf(proxy)
  t.teardown(() => void (trusted = ''))
  const { code, checks } = await doctor(gateway, proxy, '--json', '--silence', '3s')
  t.same(
    results(checks),
    {
      ...both({
        tls: 'warning',
        reach: 'ok',
        'stream, HTTP/1.1': 'problem',
        'body of 2 MB': 'problem',
        'body of 20 MB': 'problem',
        headers: 'problem',
        path: 'problem',
        address: 'problem',
        'silence of 3 s': 'problem',
      }),
      'main silence of 3 s': 'warning',
    },
    JSON.stringify(checks),
  )
  for (const { result, mend } of checks) t.equal(mend === '', result === 'ok', 'what is wrong can be mended')
  t.equal(code, 1)
  const told = await doctor(gateway, proxy, '--silence', '0s')
  t.match(told.text, /^✗ main: tls: clients do not trust it: /m, 'a certificate that nobody trusts')
  t.match(told.text, /^✗ direct: address: the gateway believes whatever address/m)
})

t.test('without a proxy, and with another gateway at the address', async t => {
  const gateway = await openGateway()
  t.teardown(() => gateway.stop())
  const other = await openGateway({ config: { secret: 'another-secret-of-this-one' } })
  t.teardown(() => other.stop())
  const { code, checks } = await doctor(
    gateway,
    { main: gateway.main, direct: other.main },
    '--json',
    '--silence',
    '0s',
  )
  t.match(results(checks), {
    'main tls': 'warning',
    'main reach': 'ok',
    'main address': 'ok',
    'direct reach': 'problem',
  })
  t.equal(code, 1)
  const nobody = await doctor(
    gateway,
    { main: 'http://127.0.0.1:9', direct: gateway.direct },
    '--json',
    '--silence',
    '0s',
  )
  t.match(
    nobody.checks.find(one => one.check === 'reach'),
    { address: 'main', says: /nothing answers at http:\/\/127\.0\.0\.1:9/ },
  )
})

t.test('only who knows the secret is answered', async t => {
  const gateway = await openGateway({ config: { secret: 'a-secret-of-this-gateway' } })
  t.teardown(() => gateway.stop())
  const ask = async (token?: string) => {
    const headers = token === undefined ? {} : { [PROBE_HEADER]: token }
    const answer = await fetch(`${gateway.main}${PROBE_PATH}echo`, { method: 'POST', headers })
    return { status: answer.status, text: await answer.text() }
  }
  const now = Date.now()
  const right = probeToken('a-secret-of-this-gateway', now)
  t.equal((await ask(right)).status, 200)
  for (const wrong of [
    undefined,
    '',
    'x',
    right.slice(0, -1),
    probeToken('another-secret', now),
    probeToken('a-secret-of-this-gateway', now - 2 * PROBE_MS),
  ])
    t.match(await ask(wrong), { status: 404, text: /Invalid URL \(POST \/gateway-probe\/echo\)/ }, String(wrong))
  const rows: [token: string, secret: string, atMs: number, valid: boolean][] = [
    [probeToken('s', now), 's', now, true],
    [probeToken('s', now), 's', now + PROBE_MS, true],
    [probeToken('s', now), 's', now + PROBE_MS + 1, false],
    [probeToken('s', now + 3 * PROBE_MS), 's', now, false],
    [probeToken('', now), '', now, false],
    [probeToken('s', now).replace('.', '0.'), 's', now, false],
  ]
  for (const [token, secret, atMs, valid] of rows) t.equal(isProbeToken(token, secret, atMs), valid)
})
