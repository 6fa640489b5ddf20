/**
 * The official SDKs in a page of another origin, in a real browser: `dangerouslyAllowBrowser` is what people set who bring their own key.
 * CORS lets the page ask with any header of the SDK and read what the SDK reads, and never with cookies.
 */
import { once } from 'node:events'
import { realpathSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import http from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import t from 'tap'
import { PACKAGES } from '../clients/packages.ts'
import { browserTest } from '../console/support/browser.ts'
import { KEY, SLOW_KEY } from '../support/gateway.ts'
import { openGateway } from '../support/open-gateway.ts'

/** The SDKs, and beside them what they import. */
const MODULES = path.dirname(realpathSync(path.join(PACKAGES, 'openai')))
/** What the modules import by a name. What stands below `/common/` is made for browsers of CommonJS, as a bundler does. */
const IMPORTS = {
  openai: '/openai/index.mjs',
  '@anthropic-ai/sdk': '/@anthropic-ai/sdk/index.mjs',
  '@google/genai': '/@google/genai/dist/web/index.mjs',
  'p-retry': '/common/p-retry',
  standardwebhooks: '/common/standardwebhooks',
  '@opentelemetry/api': '/common/@opentelemetry/api',
}
const PAGE = `<!doctype html><html data-ready><script type="importmap">${JSON.stringify({ imports: IMPORTS })}</script></html>`
const require = createRequire(path.join(MODULES, 'page.js'))

/** A package of CommonJS as one module, with everything that it requires. */
async function commonModule(name: string): Promise<string> {
  const files = new Map<string, string>()
  const add = async (file: string): Promise<void> => {
    if (files.has(file)) return
    files.set(file, '')
    let text = await readFile(file, 'utf8')
    const from = createRequire(file)
    for (const [, wanted = ''] of text.matchAll(/require\(["']([^"']+)["']\)/g)) {
      const found = from.resolve(wanted)
      if (path.isAbsolute(found)) await add(found)
      text = text.replaceAll(
        new RegExp(`require\\((["'])${RegExp.escape(wanted)}\\1\\)`, 'g'),
        `load(${JSON.stringify(found)})`,
      )
    }
    files.set(file, text)
  }
  const main = require.resolve(name)
  await add(main)
  const names = Object.keys(require(name) as object).filter(one => /^[A-Za-z_$][\w$]*$/.test(one) && one !== 'default')
  const parts = [...files].map(([file, text]) => `${JSON.stringify(file)}: (module, exports) => {\n${text}\n}`)
  return `const parts = {${parts.join(',\n')}}
const loaded = {}
function load(file) {
  if (file in loaded || !(file in parts)) return loaded[file]?.exports ?? {}
  const module = (loaded[file] = { exports: {} })
  parts[file](module, module.exports)
  return module.exports
}
const all = load(${JSON.stringify(main)})
export default all
${names.map(one => `export const ${one} = all.${one}`).join('\n')}`
}

/** A site of its own that has the SDKs, as they are published. */
async function startSite(): Promise<{ url: string; close(): void }> {
  const server = http.createServer((req, res) => {
    const { pathname } = new URL(req.url ?? '/', 'http://site')
    const file = path.join(MODULES, decodeURIComponent(pathname))
    const send = (status: number, type: string, body: string | Buffer) =>
      res.writeHead(status, { 'content-type': type }).end(body)
    if (pathname === '/') send(200, 'text/html', PAGE)
    else if (pathname.startsWith('/common/'))
      void commonModule(pathname.slice('/common/'.length)).then(text => send(200, 'text/javascript', text))
    else if (!file.startsWith(MODULES)) send(404, 'text/plain', '')
    else
      readFile(file).then(
        body => send(200, 'text/javascript', body),
        () => send(404, 'text/plain', ''),
      )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() }
}

/** For each SDK: a module that leaves what it found in `done`. `gateway` and `key` are there. */
const RUNS: Record<string, (gateway: string, key: string, slow: string) => string> = {
  openai: (gateway, key, slow) => `
    const { default: OpenAI } = await import('openai')
    const at = apiKey => new OpenAI({ baseURL: '${gateway}/v1', apiKey, maxRetries: 0, dangerouslyAllowBrowser: true })
    const body = { model: 'beta-4.7', messages: [{ role: 'user', content: 'Hello!' }] }
    const { data, response } = await at('${key}').chat.completions.create(body).withResponse()
    let streamed = ''
    for await (const chunk of await at('${key}').chat.completions.create({ ...body, stream: true })) streamed += chunk.choices[0]?.delta.content ?? ''
    await at('${slow}').chat.completions.create(body).catch(() => null)
    const error = await at('${slow}').chat.completions.create(body).then(() => null, error => error)
    return { text: data.choices[0].message.content, streamed, id: response.headers.get('x-request-id'), charge: response.headers.get('x-gateway-charge'),
      status: error.status, errorId: error.requestID, retryAfter: error.headers.get('retry-after') }`,
  anthropic: (gateway, key, slow) => `
    const { default: Anthropic } = await import('@anthropic-ai/sdk')
    const at = apiKey => new Anthropic({ baseURL: '${gateway}', apiKey, maxRetries: 0, dangerouslyAllowBrowser: true })
    const body = { model: 'alpha-sonnet-5-5', max_tokens: 100, messages: [{ role: 'user', content: 'Hello!' }] }
    const { data, response } = await at('${key}').messages.create(body).withResponse()
    let streamed = ''
    for await (const event of await at('${key}').messages.create({ ...body, stream: true })) streamed += event.delta?.text ?? ''
    await at('${slow}').messages.create(body).catch(() => null)
    const error = await at('${slow}').messages.create(body).then(() => null, error => error)
    return { text: data.content[0].text, streamed, id: response.headers.get('request-id'), charge: response.headers.get('x-gateway-charge'),
      status: error.status, errorId: error.requestID, retryAfter: error.headers.get('retry-after') }`,
  genai: (gateway, key, slow) => `
    const { GoogleGenAI } = await import('@google/genai')
    const at = apiKey => new GoogleGenAI({ apiKey, httpOptions: { baseUrl: '${gateway}' } })
    const body = { model: 'gamma-3.8-flash', contents: 'Hello!' }
    const data = await at('${key}').models.generateContent(body)
    const headers = data.sdkHttpResponse.headers
    let streamed = ''
    for await (const chunk of await at('${key}').models.generateContentStream(body)) streamed += chunk.text ?? ''
    await at('${slow}').models.generateContent(body).catch(() => null)
    const error = await at('${slow}').models.generateContent(body).then(() => null, error => error)
    return { text: data.text, streamed, id: headers['x-request-id'], charge: headers['x-gateway-charge'],
      status: error.status, errorId: /request id: (\\w+)/.exec(error.message)?.[1], retryAfter: 'not read' }`,
}

/** Far longer than a page takes on a busy machine. */
const PATIENCE_MS = 120_000

const gateway = await openGateway()
t.teardown(() => gateway.stop())
const site = await startSite()
t.teardown(() => site.close())

for (const [name, run] of Object.entries(RUNS))
  browserTest(t, `${name}: a prompt, a stream and an error, from a page of another origin`, async (t, newcomer) => {
    const { page, complaints } = await newcomer()
    await page.goto(site.url)
    // a page that hangs fails by itself: Playwright waits for it as long as it takes
    const hangs = `new Promise((_, reject) => setTimeout(() => reject(new Error('the page hangs')), ${PATIENCE_MS}))`
    const works = `(async () => {${run(gateway.main, KEY, SLOW_KEY)}})()`
    const found = (await page.evaluate(`Promise.race([${works}, ${hangs}])`)) as Record<string, string>
    t.match(found['text'], /quick brown fox/)
    t.equal(found['streamed'], found['text'])
    t.match(found['id'], /^\w{16,}$/, 'the page reads the id of the request')
    t.match(found['charge'], /^\d\.\d{6}$/, 'and what it cost')
    t.equal(found['status'], 429)
    t.match(found['errorId'], /^\w{16,}$/)
    t.match(found['retryAfter'], /^\d+$|not read/)
    t.same(complaints, [])
  })

browserTest(
  t,
  'a page of another origin reads nothing of the console, and sends the API no cookies',
  async (t, newcomer) => {
    const { page } = await newcomer()
    await page.goto(site.url)
    const read = (url: string, more = '') => `fetch('${url}', {${more}}).then(answer => answer.status, () => 'closed')`
    t.equal(await page.evaluate(read(`${gateway.main}/console`)), 'closed')
    t.equal(await page.evaluate(read(`${gateway.main}/console/api/session`, "credentials: 'include'")), 'closed')
    t.equal(await page.evaluate(read(`${gateway.main}/v1/models`, "credentials: 'include'")), 'closed')
    t.equal(await page.evaluate(read(`${gateway.main}/v1/models`)), 401)
  },
)
