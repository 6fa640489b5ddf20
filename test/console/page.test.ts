import { createHash } from 'node:crypto'
import http, { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { consolePages } from '../../lib/console/page.ts'
import { renderError } from '../../lib/terms/errors.ts'
import { Browser } from './browser.ts'

const URLS = { main: 'https://api.example', direct: 'https://direct.example' }
const KEY = 'sk-good-key'
const MODELS = ['alpha-sonnet-5-5', 'beta-4.7', '<img src=x onerror=alert(1)>']

interface Teardown {
  teardown(fn: () => unknown): void
}

interface Visit {
  url: string
  headers: IncomingHttpHeaders
}

/** The main address: console and a model list, as far as the console needs it. */
async function open(t: Teardown, urls: () => typeof URLS = () => URLS) {
  const pages = consolePages(urls)
  const asked: Visit[] = []
  const server = http.createServer((req, res) => {
    if (pages(req, res)) return
    asked.push({ url: req.url as string, headers: req.headers })
    models(req, res)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { asked, at: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

function models(req: IncomingMessage, res: ServerResponse): void {
  const english = req.headers['accept-language']?.startsWith('en') === true
  res.setHeader('content-type', 'application/json')
  if (req.url?.startsWith('/v1/models') !== true)
    res.writeHead(404).end(renderError('url', ['GET', '/'], 'r1', false, false))
  else if (req.headers.authorization === 'Bearer sk-page') res.writeHead(502).end('<html>bad gateway</html>')
  else if (req.headers.authorization !== `Bearer ${KEY}`)
    res.writeHead(401).end(renderError('key', [], 'r1', english, false))
  else res.end(JSON.stringify({ object: 'list', data: MODELS.map(id => ({ id })) }))
}

t.test('what belongs to the console', async t => {
  const { at, asked } = await open(t)
  const rows: [method: string, path: string, status: number, location: string | null][] = [
    ['GET', '/', 302, '/console'],
    ['HEAD', '/', 404, null],
    ['GET', '/?from=mail', 302, '/console'],
    ['GET', '/console', 200, null],
    ['GET', '/console/', 200, null],
    ['GET', '/console?x=1', 200, null],
    ['HEAD', '/console', 200, null],
    ['POST', '/console', 404, null],
    ['POST', '/', 404, null],
    ['GET', '/consoles', 404, null],
    ['GET', '/console/x', 404, null],
    ['GET', '//', 404, null],
    ['GET', '/v1/console', 404, null],
  ]
  for (const [method, path, status, location] of rows) {
    const reply = await fetch(at + path, { method, redirect: 'manual' })
    t.equal(reply.status, status, `${method} ${path}`)
    t.equal(reply.headers.get('location'), location, `${method} ${path}`)
    if (status === 200) t.match(reply.headers.get('content-type'), /^text\/html/)
    await reply.arrayBuffer()
  }
  t.same(
    asked.map(visit => visit.url),
    rows.filter(([, , status]) => status === 404).map(([, path]) => path),
    'the rest is the API’s',
  )
})

t.test('the policy allows our script and style, and nothing else', async t => {
  const { at } = await open(t)
  const reply = await fetch(`${at}/console`)
  const html = await reply.text()
  const policy = new Map(
    reply.headers
      .get('content-security-policy')
      ?.split('; ')
      .map(part => [part.slice(0, part.indexOf(' ')), part.slice(part.indexOf(' ') + 1)]),
  )
  const hash = (tag: string) => {
    const parts = [...html.matchAll(new RegExp(`<${tag}>([^]*?)</${tag}>`, 'g'))]
    t.equal(parts.length, 1)
    return `'sha256-${createHash('sha256')
      .update(parts[0]?.[1] as string)
      .digest('base64')}'`
  }
  t.equal(policy.get('script-src'), hash('script'))
  t.equal(policy.get('style-src'), hash('style'))
  t.match(Object.fromEntries(policy), { 'default-src': "'none'", 'connect-src': "'self'", 'frame-ancestors': "'none'" })
  t.notMatch(html, /\son\w+=|javascript:|<form[^>]*action|<input[^>]*id="key"[^>]*name=/)
  t.same(html.match(/(src|href)="[^"]*"/g), ['href="data:,"'], 'no resources')
})

t.test('addresses are those of the config, as it is now, whatever they hold', async t => {
  let urls = URLS
  const { at } = await open(t, () => urls)
  const html = async () => (await fetch(`${at}/console`)).text()
  const before = await html()
  for (const text of ['https://api.example', 'https://api.example/v1', 'https://direct.example']) {
    t.ok(before.includes(text), text)
  }
  urls = { main: 'https://new.example/a"><script>alert(1)</script>', direct: 'https://direct.example' }
  const after = await html()
  t.ok(after.includes('https://new.example/a'))
  t.notOk(after.includes('<script>alert'))
})

t.test('in a browser', async t => {
  const { at, asked } = await open(t)
  const browser = await Browser.open('zh-CN')
  t.teardown(() => browser.close())
  await browser.visit(`${at}/`)
  const text = (id: string) => browser.value<string>(`document.getElementById('${id}').innerText`)
  const check = async (key: string) => {
    await browser.value(
      `document.getElementById('key').value = ${JSON.stringify(key)}; document.getElementById('check').click()`,
    )
    await browser.until("!document.getElementById('check').disabled")
    return text('verdict')
  }

  t.equal(await browser.value('location.pathname'), '/console')
  t.equal(await browser.value('document.documentElement.lang'), 'zh-CN')
  t.equal(await text('title'), '模型网关')

  t.equal(await check(KEY), `密钥有效,可用模型 ${MODELS.length} 个`)
  t.same(await browser.value("[...document.querySelectorAll('#models li')].map(node => node.innerText)"), MODELS)
  t.equal(await browser.value("document.querySelectorAll('#models img').length"), 0, 'names are text')
  t.match(await check('sk-wrong'), /^401 无效的令牌 \(request id: r1\)$/)
  t.equal(await browser.value("document.querySelectorAll('#models li').length"), 0)
  t.match(await check('sk-page'), /^502/)
  t.match(await check('  sk-good-key\n'), /^密钥有效/, 'spaces around it are not part of it')
  const before = asked.length
  t.match(await check('密钥'), /完整的密钥/)
  t.equal(asked.length, before, 'and nobody was asked')

  await browser.value("document.getElementById('language').click()")
  t.equal(await browser.value('document.documentElement.lang'), 'en')
  t.equal(await text('title'), 'Model gateway')
  t.equal(await check('sk-wrong'), '401 Invalid token (request id: r1)')

  const snippets = () =>
    browser.value<string[]>("[...document.querySelectorAll('pre code')].map(node => node.innerText)")
  t.match((await snippets())[0], /ANTHROPIC_BASE_URL=https:\/\/api\.example\n/)
  await browser.value("document.querySelectorAll('input[name=address]')[1].click()")
  t.ok((await snippets()).every(snippet => snippet.includes('https://direct.example')))
  t.match((await snippets()).join('\n'), /OPENAI_BASE_URL=https:\/\/direct\.example\/v1\n/)
  await browser.value("document.querySelector('.snippet button').click()")
  await browser.until("document.getElementById('said').innerText !== ''")
  t.match(await text('said'), /^(Copied|Selected)/)

  t.same(await browser.value('[localStorage.length, sessionStorage.length, document.cookie]'), [0, 0, ''])
  t.same(await browser.value('location.search + location.hash'), '', 'the key is in no address')
  t.ok(asked.every(({ url, headers }) => url === '/v1/models?limit=1000' && headers.referer === undefined))
  t.ok(
    browser.requested.every(url => url.startsWith(at) || url.startsWith('data:')),
    browser.requested.join(' '),
  )
  t.same(
    browser.complaints.filter(text => !/status of (401|502)/.test(text)),
    [],
    'the policy is kept',
  )
})

t.test('in a browser of an English reader, in the dark', async t => {
  const { at } = await open(t)
  const browser = await Browser.open('en-US')
  t.teardown(() => browser.close())
  await browser.emulate('dark')
  await browser.visit(`${at}/console`)
  t.equal(await browser.value('document.title'), 'Model gateway')
  const shade = (property: string) =>
    browser.value<number>(
      `getComputedStyle(document.body).${property}.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0)`,
    )
  t.ok((await shade('backgroundColor')) < 150 && (await shade('color')) > 600)
  await browser.emulate('light')
  t.ok((await shade('backgroundColor')) > 600 && (await shade('color')) < 150)
  const unnamed = `[...document.querySelectorAll('input, button')].filter(node => !(node.labels?.length || node.innerText.trim())).length`
  t.equal(await browser.value(unnamed), 0, 'every control has a name')
  t.notOk(/\p{Script=Han}/u.test(await browser.value<string>("document.querySelector('main').innerText")), 'all of it')
})
