/**
 * Calls of the API were bounded for an address, and pages, assets and everything else below `/console` were not; and pages that had to be
 * written were bounded as those that were there.
 */
// The bug behind these rows: pages without a rate.
import net from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { openSite, URLS } from './support/site.ts'

/** The different statuses of so many visits, one behind the other on one connection. */
function heads(port: string, paths: readonly string[], count: number): Promise<string[]> {
  const { promise, resolve, reject } = Promise.withResolvers<string[]>()
  const socket = net.connect(Number(port), '127.0.0.1')
  const statuses = new Set<string>()
  let seen = 0
  let rest = ''
  socket.on('error', reject).on('data', chunk => {
    const lines = (rest + chunk.toString('latin1')).split('\r\n')
    rest = lines.pop() as string
    for (const line of lines) {
      const status = /^HTTP\/1\.1 (\d+)/.exec(line)?.[1]
      if (status === undefined) continue
      statuses.add(status)
      seen++
    }
    if (seen < count) return
    socket.destroy()
    resolve([...statuses].sort())
  })
  const visit = (path: string) => `HEAD ${path} HTTP/1.1\r\nhost: here\r\nx-test-ip: 192.0.2.1\r\n\r\n`
  for (let i = 0; i < count; i++) socket.write(visit(paths[i % paths.length] as string))
  return promise
}

t.test('an address visits so often, whatever it asks for, and its neighbours are not held up', async t => {
  const { at } = await openSite(t)
  const page = await (await fetch(`${at}/console/connect`)).text()
  const asset = /\/console\/a\/[\w/.-]+/.exec(page)?.[0] as string
  const paths = ['/console/overview', asset, '/console/nowhere', '/console/a/none']
  const visit = async (path: string, ip = '192.0.2.1', method = 'GET') => {
    const reply = await fetch(at + path, { method, headers: { 'x-test-ip': ip } })
    return { reply, text: await reply.text() }
  }
  t.same(await heads(new URL(at).port, paths, 11_999), ['200', '404'], 'a minute of an office full of people')
  for (const path of paths) {
    const { reply, text } = await visit(path)
    t.equal(reply.status, 429, path)
    t.equal(reply.headers.get('retry-after'), '1')
    t.equal(reply.headers.get('cache-control'), 'no-store')
    t.match(text, /请求过于频繁.*\nToo many visits/)
  }
  t.same((await visit('/console/connect', '192.0.2.1', 'HEAD')).text, '')
  t.equal((await visit('/console/connect', '192.0.2.2')).reply.status, 200)
  t.equal((await visit('/console/connect', '2001:db8::1')).reply.status, 200)
})

/** Of a gateway whose catalogue and addresses are others for each visit. */
async function openChanging(t: Test) {
  let visits = 0
  const { at } = await openSite(t, () => ({ ...URLS, main: `https://api-${visits}.example` }))
  return async (path: string, ip = '192.0.2.1', language = 'en') => {
    const headers = { 'x-test-ip': ip, 'accept-language': language }
    visits++
    const reply = await fetch(`${at}/console/${path}`, { headers })
    return { status: reply.status, tag: reply.headers.get('etag'), bytes: Buffer.byteLength(await reply.text()) }
  }
}

// It stands before the rows whose pages, if they stay, would be taken for memory that was there before.
// The bug behind it: of pages that were written anew, 64 MiB of older ones stayed in memory.
t.test('a page that was written anew takes no memory any longer', async t => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const visit = await openChanging(t)
  /** Collected twice: memory outside of the heap is freed by another thread, which the next collection waits for. */
  const held = () => {
    collect()
    collect()
    return process.memoryUsage().arrayBuffers
  }
  const before = held()
  let bytes = 0
  for (let n = 0; bytes < 12e6; n++) bytes += (await visit('connect', `192.0.2.${n % 200}`)).bytes
  const more = held() - before
  t.ok(more < 3e6, `${more} bytes of ${bytes} that were written`)
})

// The bug behind it: who looked at a page that changed often, from an office behind one address, got a line of text instead of it.
t.test('an address causes so much to be written, and gets what was written last all the same', async t => {
  const visit = await openChanging(t)
  t.equal((await visit('overview')).status, 200)
  let bytes = 0
  let visits = 0
  let last = null
  for (; ; visits++) {
    const page = await visit('connect')
    if (page.status !== 200 || page.tag === last) break
    last = page.tag
    bytes += page.bytes
  }
  t.ok(bytes > 25e6 && bytes < 40e6, `${bytes} bytes in ${visits} visits`)
  t.equal((await visit('overview')).status, 200, 'it was written before')
  t.equal((await visit('models')).status, 429)
  t.equal((await visit('connect?group=other')).status, 429, 'at this address nothing was shown')
  t.equal((await visit('connect', '192.0.2.1', 'zh')).status, 429, 'nor in this language')
  t.match(await visit('connect'), { status: 200, tag: last })
  const written = await visit('connect', '192.0.2.2')
  t.equal(written.status, 200)
  t.not(written.tag, last)
  t.match(await visit('connect'), { status: 200, tag: written.tag }, 'the newest that there is')
})
