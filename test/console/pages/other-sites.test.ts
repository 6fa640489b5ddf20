/**
 * Another site, open in the browser of somebody who is signed in, cannot do anything in the console. The two have names of
 * their own and plain HTTP, so that browsers do not say by `sec-fetch-site` where a request comes from, which is the
 * weakest case.
 */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { until } from '../../support/wait.ts'
import { browserTest } from '../support/browser.ts'
import { openConsole } from '../support/pages.ts'

const HOUSE = 'console.example'
const OTHER = 'elsewhere.example'

/** A page of the other site. */
async function otherSite(t: Test): Promise<string> {
  const server = http.createServer((_, res) => {
    res.setHeader('content-type', 'text/html')
    res.end('<!doctype html><title>elsewhere</title><form method="post"><input></form>')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://${OTHER}:${(server.address() as AddressInfo).port}/`
}

browserTest(t, 'forms, scripts and frames of another site reach nothing of the console', async (t, newcomer) => {
  const house = await openConsole(t)
  const account = await house.account('Acme')
  const ada = await house.person('ada@example.org', { in: { account, role: 'owner' } })
  const at = house.url.replace('127.0.0.1', HOUSE)
  const { page, context } = await newcomer({ language: 'en-US' })
  await context.addCookies([
    { name: 'session', value: ada.cookies.get('session') as string, url: at, httpOnly: true, sameSite: 'Lax' },
  ])
  const api = `${at}/console/api/accounts/${account.publicId}`
  const other = await otherSite(t)
  const body = JSON.stringify({ name: 'stolen', group: 'default' })

  // the person's own browser can: the session is good. Without its script the page makes no calls besides.
  await page.route('**/boot.js', route => route.abort())
  await page.goto(`${at}/console/connect`)
  await page.unroute('**/boot.js')
  const own = await page.evaluate(
    ([url, body]) =>
      fetch(`${url}/keys`, { method: 'POST', body, headers: { 'content-type': 'application/json' } }).then(
        r => r.status,
      ),
    [api, body] as const,
  )
  t.equal(own, 201)
  const keys = async () => (await house.store.keys.page({ limit: 10 })).length
  t.equal(await keys(), 1)
  await until('the call is counted', () => house.counted.length > 0)
  t.same(house.counted.splice(0), ['keys.create 201'])

  for (const enctype of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
    await page.goto(other)
    await page.evaluate(
      ([url, enctype, body]) => {
        const form = document.forms[0] as HTMLFormElement
        const field = form.elements[0] as HTMLInputElement
        form.action = `${url}/keys`
        form.enctype = enctype
        field.name = `${body.slice(0, -1)},"x":"`
        field.value = '"}'
        form.submit()
      },
      [api, enctype, body] as const,
    )
    await page.waitForURL(url => url.hostname === HOUSE)
    t.equal(await page.evaluate(() => typeof Reflect.get(window, 'ran')), 'undefined', enctype)
  }
  await page.goto(other)
  const outcomes = await page.evaluate(
    async ([url, body, secret]) => {
      const headers = { 'content-type': 'application/json' }
      const tries: [url: string, init: RequestInit][] = [
        [`${url}/keys`, { method: 'POST', body, headers, credentials: 'include' }],
        [`${url}/keys`, { method: 'POST', body, mode: 'no-cors', credentials: 'include' }],
        [`${url}/keys?key=${secret}`, { method: 'POST', body, mode: 'no-cors', credentials: 'include' }],
        [`${url}/keys`, { credentials: 'include' }],
        [`${url}/keys`, { mode: 'no-cors', credentials: 'include' }],
        [`${url}/keys`, { method: 'DELETE', credentials: 'include' }],
      ]
      const said: string[] = []
      for (const [at, init] of tries)
        said.push(
          await fetch(at, init).then(
            async reply => `${reply.type} ${await reply.text()}`,
            () => 'refused',
          ),
        )
      return said
    },
    [api, body, 'sk-of-the-attacker'] as const,
  )
  t.ok(
    outcomes.every(one => one === 'refused' || one === 'opaque '),
    `the other site reads nothing: ${outcomes.join('; ')}`,
  )
  const framed = await page.evaluate(async url => {
    const frame = document.createElement('iframe')
    frame.src = url
    document.body.append(frame)
    await new Promise(resolve => frame.addEventListener('load', resolve, { once: true }))
    try {
      return frame.contentDocument?.title ?? 'closed'
    } catch {
      return 'closed'
    }
  }, `${at}/console/connect`)
  t.equal(framed, 'closed', 'no page of the console in a frame')
  // three forms, and six scripts, two of which the browser asks about first
  const refused = [...Array(5).fill('keys.create 403'), ...Array(2).fill('keys.list 401'), ...Array(2).fill('none 405')]
  await until('every call is counted', () => house.counted.length >= refused.length)
  t.same(house.counted.toSorted(), refused, 'no call succeeded')
  t.equal(await keys(), 1, 'and no key was made')
})
