/**
 * `npm run weigh:pages`: opens every page of a furnished console in a real browser whose processor is slowed four times, without and with
 * what it kept, and writes into docs/console.md what came over the network and when the first text was drawn. `--check` writes nothing,
 * and fails where a page is over its bounds.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import root from 'tap'
import { isOwn, PAGES } from '../../web/shared/sitemap.ts'
import { scriptOptions } from '../support/script.ts'
import { CHROMIUM } from './support/browser.ts'
import { type Furnished, furnish, PLACES } from './support/furnished.ts'

const PAGE = path.resolve(import.meta.dirname, '../../docs/console.md')
const [BEGIN, END] = ['<!-- weights: npm run weigh:pages -->\n', '<!-- end of weights -->']
const SLOWER = 4
const MOST_AGAIN = 3
const BOUNDS = { coldBytes: 60 * 1024, warmBytes: 10 * 1024, requests: 15, paintMs: 1_000 }

const { check } = scriptOptions(import.meta.filename, { check: { type: 'boolean' } })

interface Visit {
  bytes: number
  requests: number
  /** First contentful paint. */
  paintMs: number
}

async function weigh(browser: Browser, at: Furnished, name: (typeof PAGES)[number]['name']): Promise<[Visit, Visit]> {
  const context = await browser.newContext({ locale: 'zh-CN', timezoneId: 'Asia/Shanghai' })
  const { url } = at.house
  if (isOwn(name))
    await context.addCookies([...at.cookies].map(([name, value]) => ({ name, value, url, httpOnly: true })))
  const page = await context.newPage()
  const devtools = await context.newCDPSession(page)
  await devtools.send('Network.enable')
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: SLOWER })
  const sent = { bytes: 0, requests: 0 }
  const kept = new Set<string>()
  devtools.on('Network.requestServedFromCache', ({ requestId }) => kept.add(requestId))
  devtools.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (kept.has(requestId)) return
    sent.bytes += encodedDataLength
    sent.requests++
  })
  const visit = async (): Promise<Visit> => {
    Object.assign(sent, { bytes: 0, requests: 0 })
    await page.goto(`${url}/console${PLACES[name](at)[0]}`)
    await page.waitForSelector('html[data-ready]', { state: 'attached' })
    await page.waitForLoadState('networkidle')
    const paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
    return { ...sent, paintMs: Math.round(await page.evaluate<number>(paint)) }
  }
  const visits: [Visit, Visit] = [await visit(), await visit()]
  await context.close()
  return visits
}

/** Files are joined at the first visit of all, which is nobody's usual one. */
async function makeReady(address: string): Promise<void> {
  const html = await (await fetch(address)).text()
  for (const [, file] of html.matchAll(/(?:src|href)="(\/console\/a\/[^"]*)"/g))
    await (await fetch(new URL(file as string, address), { headers: { 'accept-encoding': 'br' } })).arrayBuffer()
}

const kib = (bytes: number): string => (bytes / 1024).toFixed(1)

/** What a page is over, as text. */
const faults = ([cold, warm]: [Visit, Visit]): string[] => [
  ...(cold.bytes > BOUNDS.coldBytes ? [`${kib(cold.bytes)} KiB cold`] : []),
  ...(warm.bytes > BOUNDS.warmBytes ? [`${kib(warm.bytes)} KiB warm`] : []),
  ...(cold.requests > BOUNDS.requests ? [`${cold.requests} requests`] : []),
  ...(cold.paintMs > BOUNDS.paintMs ? [`${cold.paintMs} ms until the first text`] : []),
]

const HEAD = `| page | cold: KiB | requests | first text after ms | warm: KiB | requests |\n|---|---|---|---|---|---|\n`

root.setTimeout(0) // what furnishes the console is made for tests, which end by themselves
const ends: (() => unknown)[] = []
const browser = await chromium.launch({ executablePath: CHROMIUM as string, args: ['--no-sandbox', '--disable-gpu'] })
try {
  const at = await furnish({ teardown: end => void ends.push(end) })
  for (const { name } of PAGES) await makeReady(`${at.house.url}/console${PLACES[name](at)[0]}`)
  const rows = new Map<string, [Visit, Visit]>()
  for (const { name } of PAGES) {
    let visits = await weigh(browser, at, name)
    // Something else may have had the processor.
    for (let more = MOST_AGAIN; more > 0 && visits[0].paintMs > BOUNDS.paintMs; more--)
      visits = await weigh(browser, at, name)
    rows.set(name, visits)
  }
  for (const [name, visits] of rows)
    for (const fault of faults(visits)) {
      console.error(`${name}: ${fault}`)
      if (check) process.exitCode = 1
    }
  const table = [...rows].map(
    ([name, [cold, warm]]) =>
      `| ${name} | ${kib(cold.bytes)} | ${cold.requests} | ${cold.paintMs} | ${kib(warm.bytes)} | ${warm.requests} |\n`,
  )
  const text = HEAD + table.join('')
  console.log(text)
  const [before, rest] = readFileSync(PAGE, 'utf8').split(BEGIN)
  if (!check && rest !== undefined) writeFileSync(PAGE, `${before}${BEGIN}${text}${END}${rest.split(END)[1]}`)
} finally {
  await browser.close()
  for (const end of ends.reverse()) await end()
}
