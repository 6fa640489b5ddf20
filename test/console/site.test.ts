/** What the server sends for pages, without a browser: routes, headers, language and theme, and the document itself. */
import t from 'tap'
import { openSite, URLS } from './support/site.ts'

t.test('what belongs to the console', async t => {
  const { at, asked } = await openSite(t)
  const rows: [method: string, path: string, status: number, location?: string][] = [
    ['GET', '/', 302, '/console'],
    ['GET', '/?from=mail', 302, '/console'],
    ['GET', '/console', 200],
    ['GET', '/console/', 200],
    ['GET', '/console?x=1', 200],
    ['HEAD', '/console', 200],
    ['GET', '/console/connect', 200],
    ['GET', '/console/connect/', 200],
    ['HEAD', '/console/connect', 200],
    ['GET', '/console/nowhere', 404],
    ['GET', '/console/missing', 404],
    ['GET', '/console//', 404],
    ['GET', '/console/connect/more', 404],
    ['GET', '/console/%63onnect', 404],
    ['GET', '/console/__proto__', 404],
    ['GET', '/console/models/nowhere', 404],
    ['GET', '/console/models/%', 404],
    ['GET', '/console/models/a/b', 404],
  ]
  const others: [method: string, path: string][] = [
    ['HEAD', '/'],
    ['POST', '/console'],
    ['POST', '/'],
    ['GET', '/consoles'],
    ['GET', '//'],
    ['GET', '/v1/console'],
  ]
  for (const [method, path, status, location] of rows) {
    const reply = await fetch(at + path, { method, redirect: 'manual' })
    t.equal(reply.status, status, `${method} ${path}`)
    t.equal(reply.headers.get('location'), location ?? null, `${method} ${path}`)
    if (status !== 302) t.equal(reply.headers.get('content-type'), 'text/html; charset=utf-8')
    const body = await reply.text()
    if (status !== 302) t.equal(body.length > 0, method === 'GET')
  }
  t.same(asked, [])
  for (const [method, path] of others) await (await fetch(at + path, { method, redirect: 'manual' })).arrayBuffer()
  t.same(
    asked.map(visit => visit.url),
    others.map(([, path]) => path),
    'the rest is for the API of models',
  )
})

t.test('the headers of a page', async t => {
  let main = 'https://api.example'
  const { at } = await openSite(t, () => ({ ...URLS, main }))
  const reply = await fetch(`${at}/console/connect`)
  await reply.text()
  t.equal(
    reply.headers.get('content-security-policy'),
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'none'; " +
      "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
      "require-trusted-types-for 'script'; trusted-types 'none'",
  )
  const rows: [name: string, value: string | null][] = [
    ['cross-origin-opener-policy', 'same-origin'],
    ['cross-origin-resource-policy', 'same-origin'],
    ['referrer-policy', 'no-referrer'],
    ['x-content-type-options', 'nosniff'],
    ['x-frame-options', 'DENY'],
    [
      'permissions-policy',
      'camera=(), microphone=(), geolocation=(), payment=(), usb=(), clipboard-write=(self), publickey-credentials-get=(self)',
    ],
    ['strict-transport-security', 'max-age=31536000; includeSubDomains'],
    ['vary', 'accept-language, cookie, accept-encoding'],
    ['access-control-allow-origin', null],
  ]
  for (const [name, value] of rows) t.equal(reply.headers.get(name), value, name)
  main = 'http://api.example'
  const plain = await fetch(`${at}/console/connect`)
  t.equal(plain.headers.get('strict-transport-security'), null, 'only where browsers come by https')
  await plain.text()
})

t.test('a page has no inline script but data, no inline style, and nothing of other origins', async t => {
  const { at } = await openSite(t)
  const html = await (await fetch(`${at}/console/connect`)).text()
  t.same(
    [...html.matchAll(/<script([^>]*)>/g)].map(found => (found[1] as string).replace(/src="[^"]*"/, 'src').trim()),
    ['type="module" src', 'type="application/json" id="given"'],
  )
  t.notMatch(html, /\son\w+=|javascript:|<style|\sstyle=|<form[^>]*action/)
  const addresses = [...html.matchAll(/\s(?:src|href)="([^"]*)"/g)].map(found => found[1] as string)
  t.ok(addresses.length > 5)
  t.ok(
    addresses.every(address => /^(\/console|#)/.test(address)),
    addresses.join(' '),
  )
  t.notMatch(html, /<input[^>]*type="password"[^>]*name=/, 'a key can never get into an address')
})

t.test('language and theme: by cookie, then as the browser says', async t => {
  const { at } = await openSite(t)
  const rows: [cookie: string, accepted: string, lang: string, theme: string | undefined][] = [
    ['', 'zh-CN', 'zh-CN', undefined],
    ['', 'en-US,en;q=0.9', 'en', undefined],
    ['', '', 'zh-CN', undefined],
    ['language=en', 'zh-CN', 'en', undefined],
    ['language=zh; theme=dark', 'en', 'zh-CN', 'dark'],
    ['theme=light;language=en', 'zh', 'en', 'light'],
    ['language=fr; theme=<x>', 'en', 'en', undefined],
    ['otherlanguage=en', 'zh', 'zh-CN', undefined],
  ]
  for (const [cookie, accepted, lang, theme] of rows) {
    const headers = { cookie, 'accept-language': accepted }
    const html = await (await fetch(`${at}/console/connect`, { headers })).text()
    const [, tag = ''] = /<html([^>]*)>/.exec(html) ?? []
    t.equal(/lang="([^"]*)"/.exec(tag)?.[1], lang, `${cookie} ${accepted}`)
    t.equal(/data-theme="([^"]*)"/.exec(tag)?.[1], theme, `${cookie} ${accepted}`)
    t.equal(/\p{Script=Han}/u.test(/<h1>(.*?)<\/h1>/.exec(html)?.[1] as string), lang === 'zh-CN')
  }
})

t.test(
  'Connect can be read without its script, with the addresses of the config as it is now, whatever they hold',
  async t => {
    let urls = URLS
    const { at } = await openSite(t, () => urls)
    const html = async () => (await fetch(`${at}/console/connect`)).text()
    const before = await html()
    for (const text of ['https://api.example', 'https://api.example/v1', 'https://direct.example', 'OPENAI_BASE_URL'])
      t.ok(before.includes(text), text)
    urls = { main: 'https://new.example/a"></script><script>alert(1)</script>', direct: 'https://direct.example' }
    const after = await html()
    t.ok(after.includes('https://new.example/a'))
    t.notOk(after.includes('<script>alert'))
    t.equal([...after.matchAll(/<\/script>/g)].length, 2, 'and no script ends before its end')
  },
)
