/** Times pages of `GET /admin/usage` on a running gateway: each kind of filter several times, with different values. */
import { idAt } from '../../lib/base/ids.ts'
import { type Random, withSeed } from '../../test/support/random.ts'
import { FILL_FROM_MS } from './store-fill.ts'
import { ACCOUNTS, type Books, MODELS, UNUSED_MODEL } from './store-rows.ts'
import { startGateway } from './subjects.ts'

const TIMES = 20
const DAY_MS = 86_400_000

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
    'one request': random => `request_id=${idAt(FILL_FROM_MS + random.int(1, 140) * DAY_MS)}n0de0000000`,
    'of 1000 rows, of an account': random => `limit=1000&${account(random)}`,
  }
}

export async function measurePages(url: string, books: Books): Promise<PageFigures[]> {
  const gateway = await startGateway(1, undefined, undefined, { store: url })
  const random = withSeed(3)
  const figures: PageFigures[] = []
  const get = async (query: string) => {
    const began = performance.now()
    const answer = await fetch(`${gateway.ops}/admin/usage?${query}`, {
      headers: { authorization: 'Bearer bench-admin-token' },
    })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`/admin/usage?${query}: ${answer.status} ${text}`)
    return performance.now() - began
  }
  try {
    await get('limit=1')
    for (const [page, query] of Object.entries(pagesOf(books))) {
      const took: number[] = []
      for (let i = 0; i < TIMES; i++) took.push(await get(query(random)))
      took.sort((a, b) => a - b)
      figures.push({ page, p50: took[TIMES / 2] as number, max: took.at(-1) as number })
    }
  } finally {
    await gateway.stop()
  }
  return figures
}
