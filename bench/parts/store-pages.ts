/** Times pages of `GET /admin/usage` on a running gateway: each kind of filter several times, with different values. */
import { idAt } from '../../lib/base/ids.ts'
import { type Random, withSeed } from '../../test/support/random.ts'
import { FILL_FROM_MS } from './store-fill.ts'
import { ACCOUNTS, type Books, MODELS, UNUSED_MODEL } from './store-rows.ts'
import { startGateway } from './subjects.ts'

const TIMES = 20
const DAY_MS = 86_400_000
const EXPORT_DAYS = 3
const TOKEN = { authorization: 'Bearer bench-admin-token' }

export interface PageFigures {
  page: string
  p50: number
  max: number
}

const iso = (ms: number) => new Date(ms).toISOString()
const account = (random: Random) => `account=account-${random.int(0, ACCOUNTS - 1)}`
const model = (random: Random) => `model=${random.pick(MODELS)}`
const day = (random: Random) => {
  const from = FILL_FROM_MS + random.int(5, 140) * DAY_MS
  return `from=${iso(from)}&to=${iso(from + DAY_MS)}`
}
const deep = (random: Random) => `after=${idAt(FILL_FROM_MS + random.int(1, 140) * DAY_MS)}n0de0000000`

/** Among them are filters that find few rows or none: these must not read the whole log either. */
const pagesOf = ({ keys }: Books): Record<string, (random: Random) => string> => {
  const key = (random: Random) => `key=${random.pick(keys).id}`
  return {
    first: () => '',
    'deep in the log': deep,
    'from a day': day,
    'of an account': account,
    'of an account, deep': random => `${account(random)}&${deep(random)}`,
    'of an account, a day': random => `${account(random)}&${day(random)}`,
    'of a key': key,
    'of a key, a day': random => `${key(random)}&${day(random)}`,
    'of a model': model,
    'of a model, a day': random => `${model(random)}&${day(random)}`,
    'of an account and a model': random => `${account(random)}&${model(random)}`,
    'of a key and a model, a day': random => `${key(random)}&${model(random)}&${day(random)}`,
    'of the largest account and a model it never used': () => `account=account-0&model=${UNUSED_MODEL}`,
    'of the largest account and a rare model': () => `account=account-0&model=${MODELS.at(-1)}`,
    'of the busiest key and a model it never used': () => `key=${keys[0]?.id}&model=${UNUSED_MODEL}`,
    'of a key and somebody else’s account': () => `key=${keys[0]?.id}&account=account-1`,
    'of one account, key, model, a day': random => {
      const index = random.int(0, ACCOUNTS - 1)
      return `account=account-${index}&key=${keys[index]?.id}&${model(random)}&${day(random)}`
    },
    'of failures': () => 'outcome=upstream',
    'of failures of an account, deep': random => `outcome=upstream&${account(random)}&${deep(random)}`,
    'of the second channel, a day': random => `channel=channel-two&${day(random)}`,
    'of a model that nobody uses': () => `model=${UNUSED_MODEL}`,
    'of a protocol that nobody uses, of a key': random => `protocol=images&${key(random)}`,
    'one request': random => `request_id=${idAt(FILL_FROM_MS + random.int(1, 140) * DAY_MS)}n0de0000000`,
    'of 1000 rows, of an account': random => `limit=1000&${account(random)}`,
  }
}

const month = (random: Random) => {
  const from = FILL_FROM_MS + random.int(5, 115) * DAY_MS - 8 * 3_600_000
  return `from=${iso(from)}&to=${iso(from + 30 * DAY_MS)}`
}

const SUMMARIES: Record<string, (random: Random) => string> = {
  '30 days by model': random => `by=model&${month(random)}`,
  '30 days by day': random => `by=day&${month(random)}`,
  '30 days by day and model': random => `by=day,model&${month(random)}`,
  '30 days by account': random => `by=account&${month(random)}`,
  '30 days by key, of a model': random => `by=key&${model(random)}&${month(random)}`,
  '30 days by channel, failures': random => `by=channel&outcome=upstream&${month(random)}`,
  '30 days of an account by day and model': random => `by=day,model&${account(random)}&${month(random)}`,
  '30 days of the largest account by hour': random => `by=hour&account=account-0&${month(random)}`,
  'a day by hour and model': random => `by=hour,model&${day(random)}`,
  'all 150 days by model': () => 'by=model',
  'all 150 days of an account by day': random => `by=day&${account(random)}`,
  '30 days by day in UTC, which needs hours': random => `by=day&zone=UTC&${month(random)}`,
}

type Get = (path: string) => Promise<number>

async function measure(get: Get, path: string, kinds: Record<string, (random: Random) => string>) {
  const random = withSeed(3)
  const figures: PageFigures[] = []
  for (const [page, query] of Object.entries(kinds)) {
    const took: number[] = []
    for (let i = 0; i < TIMES; i++) took.push(await get(`${path}?${query(random)}`))
    took.sort((a, b) => a - b)
    figures.push({ page, p50: took[TIMES / 2] as number, max: took.at(-1) as number })
  }
  return figures
}

/** Rows a second that a caller gets who takes them as fast as they come. */
async function measureExport(ops: string): Promise<number> {
  const began = performance.now()
  const query = `from=${iso(FILL_FROM_MS)}&to=${iso(FILL_FROM_MS + EXPORT_DAYS * DAY_MS)}`
  const answer = await fetch(`${ops}/admin/usage.csv?${query}`, { headers: TOKEN })
  let end = ''
  const decoder = new TextDecoder()
  for await (const bytes of answer.body!) end = (end + decoder.decode(bytes)).slice(-100)
  const rows = Number(/# rows: (\d+)\n$/.exec(end)?.[1])
  if (!(rows > 0)) throw new Error(`an export broke off: ${end}`)
  return rows / ((performance.now() - began) / 1000)
}

export interface ReadFigures {
  pages: PageFigures[]
  summaries: PageFigures[]
  exportedPerSecond: number
}

export async function measureReads(url: string, books: Books): Promise<ReadFigures> {
  const gateway = await startGateway(1, undefined, undefined, { store: url })
  const get = async (path: string) => {
    const began = performance.now()
    const answer = await fetch(`${gateway.ops}${path}`, { headers: TOKEN })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text}`)
    return performance.now() - began
  }
  try {
    await get('/admin/usage?limit=1')
    return {
      pages: await measure(get, '/admin/usage', pagesOf(books)),
      summaries: await measure(get, '/admin/usage/summary', SUMMARIES),
      exportedPerSecond: await measureExport(gateway.ops as string),
    }
  } finally {
    await gateway.stop()
  }
}
