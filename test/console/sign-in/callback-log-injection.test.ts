/** What the callback of an OpenID provider was given went into the log as it came, of any length and with line feeds. */
// The bug behind these rows: words of a callback in the log.
import t from 'tap'
import { serveConsole } from '../support/cookie-browser.ts'
import { CLIENT, startOpenidProvider } from '../../support/openid-provider.ts'

t.test('a bounded line of it is logged', async t => {
  const provider = await startOpenidProvider(t, () => Date.now())
  const oidc = { issuer: provider.issuer, name: 'Company', client_id: CLIENT.id, client_secret: CLIENT.secret }
  const { deps, browser } = await serveConsole(t, JSON.stringify({ oidc }))
  const said = `no\r\n{"level":60,"msg":"the books do not add up"}\u001b[2J\u202e${'x'.repeat(6_000)}`
  for (const error of ['access_denied', said]) {
    const one = browser()
    const { json } = await one.ask('POST', '/sign-in/oidc', {})
    const back = await provider.visit(String(json['url']))
    const query = new URLSearchParams({
      error,
      error_description: said,
      state: back.searchParams.get('state') ?? '',
      iss: provider.issuer,
    })
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' }
    const { status, headers: got } = await one.ask('GET', `/sign-in/oidc/callback?${query}`, undefined, headers)
    t.same([status, got.location], [303, '/console/sign-in?oidc=failed'])
  }
  const lines = deps.logged.filter(line => line.includes('OpenID provider failed'))
  t.equal(lines.length, 2)
  for (const line of lines) {
    t.ok(line.length < 1_500, `${line.length} characters`)
    t.notMatch(line, /\\[rnu]|\u202e/, 'nothing in it steers a terminal, or begins a line')
  }
  t.match(lines[0], /access_denied/)
})
