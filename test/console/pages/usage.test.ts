/** The pages Usage and Requests as people narrow them down: the same filters on chart, table, list and files. */
import t from 'tap'
import { idAt } from '../../../lib/base/ids.ts'
import { micro } from '../../../lib/base/money.ts'
import type { Role } from '../../../lib/base/people.ts'
import type { UsageRow } from '../../../lib/terms/usage-row.ts'
import type { Key } from '../../../lib/terms/records.ts'
import { fund, newKey, SETUP, settlement, usageRow } from '../../support/store.ts'
import { browserTest, type Visitor } from '../support/browser.ts'
import type { House } from '../support/console.ts'
import { giveSession, openConsole } from '../support/pages.ts'

const HOUR_MS = 3_600_000
const ROWS = 40
const REFUSALS = 60

/** Filters of every kind: of sums, of single requests, and of time. */
const WITH_SUMS = ['Model', 'Key', 'Outcome', 'Status', 'Charge of at least (CNY)', 'Period']

interface Ground {
  house: House
  rows: readonly UsageRow[]
  keys: readonly Key[]
  /** Signs a browser in. */
  enter(visitor: Visitor, role: Role): Promise<void>
  account: string
}

/** Eight days of requests that differ in everything that can be filtered by, and some that were refused. */
async function open(): Promise<Ground> {
  const house = await openConsole(t)
  const { store, clock } = house
  clock.step(Date.now() - clock.now())
  const { account, key } = await fund(store, 'acme', 500_000_000)
  const other = await store.keys.create(
    newKey(account.id, { name: 'build server', hash: 'laptop'.padEnd(64, '7') }),
    SETUP,
  )
  const keys = [key, other]
  await store.holders.register({ id: 'h', host: 'here', beat: 0 })
  const rows = Array.from({ length: ROWS }, (_, i) =>
    usageRow(
      `${idAt(clock.now() - (5 * i + 1) * HOUR_MS)}n0de00${String(i).padStart(5, '0')}`,
      keys[i % 4 === 0 ? 1 : 0] as Key,
      i % 8 === 0 ? 900_000 : 1_000,
      {
        model: i % 2 === 0 ? 'alpha' : 'beta',
        group: i % 5 === 0 ? 'vip' : 'default',
        protocol: i % 3 === 0 ? 'messages' : 'chat',
        basis: i % 9 === 0 ? 'counted' : 'reported',
        durationMs: i % 6 === 0 ? 30_000 : 1_000,
        ...(i % 10 === 7 ? { status: 502, end: 'upstream_error' as const } : {}),
      },
    ),
  )
  await store.books.settle(rows.map(row => settlement(row, 'h', 0)))
  await store.refusals.record(
    Array.from({ length: REFUSALS }, (_, i) => ({
      requestId: `${idAt(clock.now() - (i + 1) * 60_000)}n0de99${String(i).padStart(5, '0')}`,
      atMs: clock.now() - (i + 1) * 60_000,
      accountId: account.id,
      keyId: key.id,
      model: 'alpha',
      reason: i % 12 === 0 ? ('rate' as const) : ('quota' as const),
      status: i % 12 === 0 ? 429 : 403,
      address: '192.0.2.7',
    })),
  )
  let people = 0
  const enter = async (visitor: Visitor, role: Role) =>
    giveSession(visitor, house, await house.person(`${role}-${++people}@example.org`, { in: { account, role } }))
  return { house, rows, keys, enter, account: account.publicId }
}

const ground = open()

/** Resolves when the table in front has so many rows. */
const has = ({ page }: Visitor, count: number) =>
  page.waitForFunction(
    wanted => document.querySelectorAll('main [role=tabpanel]:not([hidden]) tbody tr').length === wanted,
    count,
  )

const figure = ({ page }: Visitor, name: string) =>
  page
    .locator('.figure')
    .filter({ has: page.locator('dt', { hasText: new RegExp(`^${name}$`) }) })
    .locator('dd')
    .first()

/** The last line of a file that the page offers. */
async function rowsOfFile({ page }: Visitor, name: string): Promise<string | undefined> {
  const href = await page.getByRole('link', { name, exact: true }).getAttribute('href')
  const text = await page.evaluate(async address => (await fetch(address)).text(), href as string)
  return text.trim().split(/\r?\n/).at(-1)
}

browserTest(t, 'each filter: the list, the files, and the sums of the same address', async (t, newcomer) => {
  const { house, rows, keys, enter } = await ground
  const visitor = await newcomer({ language: 'en-US' })
  const { page, visit, complaints } = visitor
  await enter(visitor, 'owner')
  await visit(`${house.url}/console/requests`)
  await has(visitor, ROWS)
  await page.getByText('More filters').click()
  await page.getByLabel('Model', { exact: true }).locator('option', { hasText: 'beta' }).waitFor({ state: 'attached' })
  const filters: [label: string, choice: string, parameter: string, fits: (row: UsageRow) => boolean][] = [
    ['Model', 'beta', 'model=beta', row => row.model === 'beta'],
    ['Key', 'build server', `key=${keys[1]?.publicId}`, row => row.keyId === keys[1]?.id],
    ['Group', 'vip', 'group=vip', row => row.group === 'vip'],
    ['Protocol', 'messages', 'protocol=messages', row => row.protocol === 'messages'],
    ['Outcome', 'Failed', 'outcome=upstream', row => row.end === 'upstream_error'],
    ['Status', '5xx', 'status=5xx', row => row.status === 502],
    ['How it ended', 'Error of the upstream', 'end=upstream_error', row => row.end === 'upstream_error'],
    ['Basis', 'Counted by the gateway', 'basis=counted', row => row.basis === 'counted'],
    ['Charge of at least (CNY)', '0.5', 'charge_from=0.5', row => row.charge >= micro(500_000)],
    ['Duration of at least (s)', '20', 'duration_from_ms=20000', row => row.durationMs >= 20_000],
    ['Period', 'Last 24 hours', 'period=day', row => rows.indexOf(row) < 5],
  ]
  /** What the page Usage makes of the address, and back. */
  const sumsOf = async (label: string, parameter: string, count: number) => {
    await page.getByRole('link', { name: 'Show as a chart' }).click()
    await page.waitForURL(/\/console\/usage/)
    await visitor.drawn()
    const sums = ['status', 'end', 'basis', 'charge_from', 'duration_from_ms'].includes(
      parameter.split('=')[0] as string,
    )
      ? ROWS
      : count
    t.equal(await figure(visitor, 'Requests').innerText(), String(sums), `${label}: the sums`)
    t.equal(await page.getByText('The totals and the chart leave these filters out').count(), sums === count ? 0 : 1)
    t.equal(await rowsOfFile(visitor, 'Requests as CSV'), `# rows: ${count}`, `${label}: the file beside the sums`)
    await page.goBack()
    await visitor.drawn()
    await has(visitor, count)
  }
  for (const [label, choice, parameter, fits] of filters) {
    const control = page.getByLabel(label, { exact: true })
    if (await control.evaluate(node => node.tagName === 'SELECT')) await control.selectOption({ label: choice })
    else {
      await control.fill(choice)
      await control.press('Enter')
    }
    const count = rows.filter(fits).length
    t.ok(count > 0 && count < ROWS, label)
    await has(visitor, count)
    t.ok(page.url().includes(parameter), `${parameter} stands in ${page.url()}`)
    t.equal(await rowsOfFile(visitor, 'CSV'), `# rows: ${count}`, `${label}: the file`)
    t.equal(await rowsOfFile(visitor, 'JSONL'), JSON.stringify({ count }), `${label}: the other file`)
    if (WITH_SUMS.includes(label)) await sumsOf(label, parameter, count)
    await page.getByRole('button', { name: 'Clear the filters' }).first().click()
    await has(visitor, ROWS)
  }
  t.same(complaints, [])
})

browserTest(t, 'from the sums to the requests behind a number, and back by the address', async (t, newcomer) => {
  const { house, rows, enter } = await ground
  const visitor = await newcomer({ language: 'en-US' })
  const { page, visit, complaints } = visitor
  await enter(visitor, 'owner')
  await visit(`${house.url}/console/usage`)
  await page.getByLabel('Stacked by').selectOption({ label: 'Protocol' })
  await page.getByRole('link', { name: 'messages', exact: true }).waitFor()
  t.match(await rowsOfFile(visitor, 'The table as CSV'), '# rows: 2')
  const charges = async () =>
    (await page.locator('.listing tbody td:last-child').allInnerTexts()).map(text => Number(text.replace('¥', '')))
  const heading = page.getByRole('columnheader', { name: 'Charge' })
  await heading.getByRole('button').click()
  await heading.getByRole('button').click()
  t.equal(await heading.getAttribute('aria-sort'), 'ascending')
  t.same(
    await charges(),
    (await charges()).sort((a, b) => a - b),
    'the smallest first',
  )
  const total = Number((await page.locator('.listing tfoot td:last-child').innerText()).replace('¥', ''))
  t.ok(Math.abs(total - (await charges()).reduce((sum, one) => sum + one, 0)) < 1e-6, 'and what they come to')
  await page.getByLabel('Period').selectOption('week')
  await page.getByLabel('One bar for').selectOption('hour')
  await page.waitForURL(/by=hour/)
  await page.waitForFunction(() => document.querySelectorAll('.bar-slot').length > 20)
  await page.getByLabel('One bar for').selectOption('day')
  await page.waitForFunction(() => document.querySelectorAll('.bar-slot').length < 10)
  await page.getByText('More filters').click()
  await page.getByLabel('Model', { exact: true }).selectOption('alpha')
  await page.waitForURL(/model=alpha/)
  await visitor.drawn()
  const shown = Number(await figure(visitor, 'Requests').innerText())
  const days = (row: UsageRow) => rows.indexOf(row) * 5 + 1
  t.ok(shown >= rows.filter(row => row.model === 'alpha' && days(row) < 6 * 24).length)
  const inTable = page.getByRole('region', { name: 'Details' })
  const ofChat = Number(await inTable.getByRole('row', { name: /^chat/ }).locator('td').first().innerText())
  await inTable.getByRole('link', { name: 'chat', exact: true }).click()
  await page.waitForURL(/\/console\/requests\?/)
  await visitor.drawn()
  await has(visitor, ofChat)
  t.equal(await page.getByText('More filters (2 in use)').count(), 1, 'the model and the protocol came along')
  t.same(complaints, [])
})

browserTest(
  t,
  'the zone of times is chosen once for every page; a period from one time to another',
  async (t, newcomer) => {
    const { house, enter } = await ground
    const visitor = await newcomer({ language: 'en-US', context: { timezoneId: 'Asia/Tokyo' } })
    const { page, visit, complaints } = visitor
    await enter(visitor, 'owner')
    await visit(`${house.url}/console/requests?from=2026-01-01T00%3A30%3A00.000Z`)
    await has(visitor, ROWS)
    const from = page.getByLabel('From', { exact: true })
    const to = page.getByLabel('To', { exact: true })
    t.equal(await from.inputValue(), '2026-01-01T08:30', 'the zone of the books')
    await page.getByLabel('Times in').selectOption('Asia/Tokyo')
    t.equal(await from.inputValue(), '2026-01-01T09:30', 'the same moment')
    const first = page.locator('tbody time').first()
    const [iso, own] = [await first.getAttribute('datetime'), await first.innerText()]
    const utc = (iso as string).slice(0, 19).replace('T', ' ')
    t.not(own, utc)
    await page.getByLabel('Times in').selectOption('UTC')
    t.equal(await first.innerText(), utc)
    t.equal(await from.inputValue(), '2026-01-01T00:30', 'the same moment')

    // the second and the third request, to the minute
    const moments = await page
      .locator('tbody time')
      .evaluateAll(all => all.slice(0, 3).map(one => one.getAttribute('datetime')))
    await from.fill((moments[2] as string).slice(0, 16))
    await to.fill((moments[0] as string).slice(0, 16))
    await has(visitor, 2)
    await to.fill('2026-01-01T00:00')
    await page.getByText('The end is not after the beginning, so it is left out.').waitFor()
    await has(visitor, 3)

    await visit(`${house.url}/console/usage`)
    await visitor.drawn()
    t.equal(await page.getByLabel('Times in').inputValue(), 'utc', 'on the next page, too')
    await visit(`${house.url}/console/overview`)
    await page.getByRole('heading', { name: 'Last requests' }).waitFor()
    const last = await page.locator('section[aria-labelledby=last] tbody time').first().innerText()
    t.notOk([own, utc].includes(last), 'days of money are those of the books, and all times of their page too')
    await page.getByText('Times in Asia/Shanghai', { exact: true }).waitFor()

    const indian = await newcomer({ language: 'en-US', context: { timezoneId: 'Asia/Kolkata' } })
    await enter(indian, 'owner')
    await indian.visit(`${house.url}/console/usage`)
    await indian.page.getByLabel('Times in').selectOption('own')
    await indian.page.getByText('so the chart has the days of Asia/Shanghai').waitFor()
    t.same([...complaints, ...indian.complaints], [])
  },
)

browserTest(
  t,
  'the same thirty days give the same bars on Overview and Usage, wherever the browser is',
  async (t, newcomer) => {
    const { house, enter } = await ground
    const visitor = await newcomer({ language: 'en-US', context: { timezoneId: 'America/Los_Angeles' } })
    await enter(visitor, 'owner')
    // one page reckons from the browser's clock and the other from the house's, also at midnight
    await visitor.page.clock.setFixedTime(house.clock.now())
    const barsOf = async (page: string) => {
      await visitor.visit(`${house.url}/console/${page}`)
      await visitor.drawn()
      return visitor.page.locator('svg.bars g > title').allTextContents()
    }
    const [overview, usage] = [await barsOf('overview'), await barsOf('usage')]
    t.equal(overview.length, 30)
    t.same(usage, overview)
    t.ok(new Set(overview).size > 8, 'bars say what they are of')
    t.same(visitor.complaints, [])
  },
)

browserTest(t, 'requests and refusals stand oldest first when the reader says so', async (t, newcomer) => {
  const { house, rows, enter } = await ground
  const visitor = await newcomer({ language: 'en-US' })
  const { page, visit, axe, complaints } = visitor
  await enter(visitor, 'owner')
  await visit(`${house.url}/console/requests`)
  await has(visitor, ROWS)
  const panel = page.locator('main [role=tabpanel]:not([hidden])')
  const first = panel.locator('tbody a').first()
  const head = panel.getByRole('columnheader', { name: 'Time', exact: true })
  const sorted = (way: string) => panel.locator(`thead th[aria-sort=${way}]`, { hasText: 'Time' }).waitFor()
  const begins = (id: string) => panel.locator(`tbody tr:first-child a[href*="${id}"]`).waitFor()
  const [newest, oldest] = [rows[0]!.requestId, rows.at(-1)!.requestId]
  await sorted('descending')
  await begins(newest)
  t.equal(await page.getByLabel('Live').count(), 1)
  await head.getByRole('button').click()
  await sorted('ascending')
  await begins(oldest)
  t.match(page.url(), /sort=time/)
  t.equal(await page.getByLabel('Live').count(), 0, 'what is new is not at the top')
  const file = await page.getByRole('link', { name: 'CSV', exact: true }).getAttribute('href')
  const text = await page.evaluate(async address => (await fetch(address)).text(), file as string)
  t.ok(text.indexOf(oldest) > 0 && text.indexOf(oldest) < text.indexOf(newest), 'and so does the file')
  t.same(await axe(), [])
  await page.reload()
  await begins(oldest)
  await page.getByRole('tab', { name: 'Refused requests' }).click()
  await sorted('ascending')
  await has(visitor, 50)
  const ofFirstPage = await first.getAttribute('href')
  await page.getByRole('button', { name: 'Next' }).click()
  await has(visitor, REFUSALS - 50)
  await page.getByRole('button', { name: 'Previous' }).click()
  await has(visitor, 50)
  t.equal(await first.getAttribute('href'), ofFirstPage)
  // an answer that is slow, and then one that fails: the rows of the order before are shown, whose next page is another
  const older = page.getByRole('button', { name: 'Older' })
  let answer = () => {}
  await page.route('**/refusals*', async route => {
    await new Promise<void>(resolve => (answer = resolve))
    await route.abort()
  })
  const asked = page.waitForRequest('**/refusals*')
  await head.getByRole('button').click()
  await sorted('descending')
  await asked
  t.notMatch(page.url(), /sort=/, 'the usual order stands in no address')
  await older.click({ force: true })
  t.notMatch(page.url(), /after=/, 'nothing is turned while the answer is on its way')
  answer()
  const again = panel.getByRole('button', { name: 'Try again' })
  await again.waitFor()
  await older.click({ force: true })
  t.notMatch(page.url(), /after=/, 'nor after it failed')
  t.same(complaints.splice(0), ['console: Failed to load resource: net::ERR_FAILED'])
  await page.unroute('**/refusals*')
  await again.click()
  await older.click()
  await has(visitor, REFUSALS - 50)
  t.ok(
    (
      await page
        .locator('main [role=tabpanel]:not([hidden]) tbody a')
        .evaluateAll(all => all.map(a => a.getAttribute('href')))
    ).includes(ofFirstPage),
  )
  t.same(complaints, [])
})

browserTest(t, 'refused requests are turned page by page, and looked for by their reason', async (t, newcomer) => {
  const { house, enter } = await ground
  const visitor = await newcomer({ language: 'en-US' })
  const { page, visit, axe, complaints } = visitor
  await enter(visitor, 'owner')
  await visit(`${house.url}/console/requests`)
  await page.getByRole('tab', { name: 'Refused requests' }).click()
  await has(visitor, 50)
  t.match(page.url(), /list=refused/)
  t.same(await axe(), [])
  await page.getByRole('button', { name: 'Older' }).click()
  await has(visitor, REFUSALS - 50)
  await page.getByRole('button', { name: 'Newer' }).click()
  await has(visitor, 50)
  await page.getByText('More filters').click()
  await page.getByLabel('Why').selectOption({ label: 'There were too many requests in a short time.' })
  await has(visitor, REFUSALS / 12)
  await page.locator('tbody a').first().click()
  await page.getByText('The request was refused').waitFor()
  await page.goBack()
  await visitor.drawn()
  await has(visitor, REFUSALS / 12)
  await page.getByLabel('Period').selectOption('week')
  await page.getByRole('tab', { name: 'Requests', exact: true }).click()
  await page.waitForFunction(() => document.querySelectorAll('[role=tabpanel]:not([hidden]) tbody tr').length > 20)
  t.match(page.url(), /period=week/, 'the period stays')
  t.same(complaints, [])
})

browserTest(t, 'where nothing is, the pages say what to do, and each role sees its own', async (t, newcomer) => {
  const { house, enter } = await ground
  const visitor = await newcomer({ language: 'en-US' })
  const { page, visit, complaints } = visitor
  await enter(visitor, 'billing')
  await visit(`${house.url}/console/usage?model=nothing-like-it`)
  await page.getByText('No usage fits these filters').waitFor()
  t.equal(
    await page.getByLabel('Model', { exact: true }).inputValue(),
    'nothing-like-it',
    'what is filtered by is shown',
  )
  await page.getByRole('button', { name: 'Clear the filters' }).last().click()
  await visitor.drawn()
  t.equal(await figure(visitor, 'Requests').innerText(), String(ROWS))
  t.equal(
    await page
      .locator('main')
      .getByRole('link', { name: /requests/i })
      .count(),
    0,
    'who reads totals is not led to requests',
  )
  t.equal(await rowsOfFile(visitor, 'The table as CSV'), '# rows: 2')
  await visit(`${house.url}/console/usage?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z`)
  await page.getByText('Nothing was used in this time').waitFor()

  const member = await newcomer({ language: 'en-US' })
  await enter(member, 'member')
  await member.visit(`${house.url}/console/requests`)
  await member.page.getByText('No request').waitFor()
  await member.page.getByText('More filters').click()
  await member.page.getByLabel('Basis').waitFor()
  t.equal(await member.page.getByLabel('Who made the key').count(), 0)
  t.equal(
    await member.page.getByLabel('Key', { exact: true }).locator('option').count(),
    1,
    'keys of others are no choice',
  )
  t.same([...complaints, ...member.complaints], [])
})
