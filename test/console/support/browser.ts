/**
 * A real headless Chromium, driven by Playwright. It writes down what a page did wrong: what the content security policy
 * refused, what stood in the browser's console, and every request. A machine without Chromium skips these tests and says
 * so; where CI is set they fail.
 */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'

/** The headless shell is the same engine without windows, menus and profiles, and takes about half of the processor's time. */
const PATHS = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'].map(
  name => `/usr/bin/${name}`,
)

export const CHROMIUM = process.env['CHROMIUM'] ?? PATHS.find(path => existsSync(path))

export const CHROMIUM_MISSING =
  CHROMIUM === undefined
    ? 'Chromium is not on this machine, and tests of the pages did not run: install it, or name its path in CHROMIUM'
    : null

/** Names that tests give to 127.0.0.1, because a browser treats an address of the own machine like https. */
const HOSTS = '--host-resolver-rules=MAP console.example 127.0.0.1, MAP elsewhere.example 127.0.0.1'

/** Ends only tests that wait in vain: far longer than what a busy machine takes. */
const PATIENCE_MS = 60_000

/** In one look: before its script has run, a page waits for nothing yet. */
const DRAWN = 'html[data-ready]:not(:has(main .skeleton, main [aria-busy=true]))'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const AXE_RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

export interface Visitor {
  page: Page
  context: BrowserContext
  /** What the policy refused and what the page's script complained about, since the visitor came. */
  complaints: string[]
  /** Every address that was asked for. */
  requested: string[]
  /** Opens an address and resolves when the page's script has drawn it. */
  visit(url: string): Promise<void>
  /** Resolves when the page's script has drawn it and nothing of it waits for its data any more, also after a reload or a link. */
  drawn(): Promise<void>
  /** Resolves when the page has said this at its edge, where it leaves again by itself. */
  told(text: string): Promise<void>
  /** What axe finds, as a line each; empty = nothing. `rules`: only these. */
  axe(rules?: string[]): Promise<string[]>
}

export interface VisitorOptions {
  language?: 'zh-CN' | 'en-US'
  scheme?: 'light' | 'dark'
  width?: number
  /** Of the screen, for each pixel of the page. By default fewer than any screen has: what nobody looks at is drawn coarsely. */
  pixels?: number
  context?: BrowserContextOptions
}

let running: Promise<Browser> | null = null

/** One browser serves all tests of the process. */
function launch(): Promise<Browser> {
  if (running === null) {
    running = chromium.launch({
      executablePath: CHROMIUM as string,
      args: ['--no-sandbox', '--disable-gpu', HOSTS],
      timeout: PATIENCE_MS,
    })
    // scripts that share what is here are no tests, and tap ends what takes longer than one may
    void import('tap').then(({ default: root }) => root.teardown(async () => (await running)?.close()))
  }
  return running
}

/** A test that needs a browser. */
export function browserTest(file: Test, name: string, run: (t: Test, newcomer: Newcomer) => Promise<void>): void {
  void file.test(name, async t => {
    if (CHROMIUM_MISSING === null) return run(t, options => visitor(t, options))
    if (process.env['CI']) t.fail(CHROMIUM_MISSING)
    else t.pass(CHROMIUM_MISSING)
  })
}

export type Newcomer = (options?: VisitorOptions) => Promise<Visitor>

async function visitor(t: Test, options: VisitorOptions = {}): Promise<Visitor> {
  const { language = 'zh-CN', scheme = 'light', width = 1440, pixels = 0.5 } = options
  const browser = await launch()
  const context = await browser.newContext({
    locale: language,
    colorScheme: scheme,
    viewport: { width, height: 900 },
    deviceScaleFactor: pixels,
    ...(width < 500 && { hasTouch: true, isMobile: true }),
    ...options.context,
  })
  t.teardown(() => context.close())
  context.setDefaultTimeout(PATIENCE_MS)
  const complaints: string[] = []
  const requested: string[] = []
  await context.exposeBinding('tellViolation', (_source, text: string) => void complaints.push(text))
  await context.addInitScript(
    "addEventListener('securitypolicyviolation', e => tellViolation('policy: ' + e.violatedDirective + ' ' + e.blockedURI))",
  )
  context.on('request', request => void requested.push(request.url()))
  context.on('console', message => {
    // a request that is refused is said in the page, and the browser says it once more
    const expected = /^Failed to load resource: the server responded with a status of/.test(message.text())
    if (message.type() === 'error' && !expected) complaints.push(`console: ${message.text()}`)
  })
  context.on('weberror', error => void complaints.push(`thrown: ${error.error().message}`))
  const page = await context.newPage()
  return {
    page,
    context,
    complaints,
    requested,
    async visit(url) {
      await page.goto(url)
      await page.waitForSelector('html[data-ready]', { state: 'attached' })
    },
    drawn: () => page.locator(DRAWN).waitFor({ state: 'attached' }),
    told: text => page.locator('.notice', { hasText: text }).last().waitFor({ state: 'attached' }),
    axe: rules => findings(page, rules),
  }
}

interface Finding {
  id: string
  help: string
  nodes: { target: unknown[]; failureSummary: string }[]
}

async function findings(page: Page, rules?: string[]): Promise<string[]> {
  const wanted = rules === undefined ? { type: 'tag', values: AXE_RULES } : { type: 'rule', values: rules }
  // as a script of the page it would stand against the policy; this way the browser runs it beside the page
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(AXE)
  const found = (await page.evaluate(
    `axe.run(document, { resultTypes: ['violations'], runOnly: ${JSON.stringify(wanted)} })
      .then(result => result.violations)`,
  )) as Finding[]
  return found.flatMap(({ id, help, nodes }) =>
    nodes.map(node => `${id}: ${help}: ${node.target.join(' ')}: ${node.failureSummary}`),
  )
}
