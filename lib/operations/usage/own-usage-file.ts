/** The table of usage as a CSV file: a line for each stack, also for those that the page has no room for. */
import type { Language } from '../../base/people.ts'
import type { Words } from '../error.ts'
import { type CsvColumn, CsvTable, forPeople } from '../csv.ts'
import type { Stack, TotalsFileQuery } from './filters.ts'
import { addUp, shownTotals } from './totals-shown.ts'
import type { Reader } from './whose.ts'
import { byCharge, namesOf, readSums, stacksOf, type UsageDeps } from './own-usage.ts'

export { CSV_TYPE } from '../csv.ts'
export { totalsFileQuery } from './filters.ts'

const SLICE = 500

type Totals = ReturnType<typeof shownTotals>
type Row = Totals & Awaited<ReturnType<Awaited<ReturnType<typeof namesOf>>>>

const both = (zh: string, en: string): Words => ({ zh, en })

const STACK_HEADS: Record<Stack, Words> = {
  model: both('模型', 'Model'),
  key: both('密钥', 'Key'),
  group: both('分组', 'Group'),
  protocol: both('协议', 'Protocol'),
}

const NUMBERS: readonly [name: Exclude<keyof Totals, 'cache_hit_share'>, head: Words][] = [
  ['requests', both('请求数', 'Requests')],
  ['failed', both('失败', 'Failed')],
  ['input', both('输入', 'Input')],
  ['cache_read', both('缓存读取', 'Cache read')],
  ['cache_write_5m', both('缓存写入5分钟', 'Cache write 5 min')],
  ['cache_write_1h', both('缓存写入1小时', 'Cache write 1 h')],
  ['output', both('输出', 'Output')],
  ['images', both('图片', 'Pictures')],
  ['searches', both('搜索', 'Searches')],
  ['seconds', both('秒', 'Seconds')],
  ['characters', both('字符', 'Characters')],
  ['tool_calls', both('工具调用', 'Tool calls')],
  ['first_byte_p50_ms', both('首字节中位数(毫秒)', 'Median first byte (ms)')],
  ['first_byte_p95_ms', both('首字节95%(毫秒)', 'First byte, 95 % (ms)')],
  ['charge', both('费用(元)', 'Charge (CNY)')],
]

const columnsOf = (stack: Stack): CsvColumn<Row>[] => [
  { name: stack, head: STACK_HEADS[stack], foreign: true, value: ({ name }) => name },
  ...(stack === 'key'
    ? [{ name: 'key_id', head: both('密钥编号', 'Key id'), value: ({ key }: Row) => key?.id ?? null }]
    : []),
  ...NUMBERS.map(([name, head]) => ({ name, head, value: (row: Row) => row[name] })),
]

/** The text piece by piece. What is wrong with the question is refused before anything is sent. */
export async function ownUsageFile(
  deps: UsageDeps,
  reader: Reader,
  sent: TotalsFileQuery,
  language: Language,
): Promise<AsyncGenerator<string>> {
  const { heads, ...rest } = sent
  const { stack } = sent
  const { accountId, read } = await readSums(deps, reader, { ...rest, by: 'day' })
  const stacks = (await read({ by: [stack], firstBytes: true })).sort(byCharge)
  const table = new CsvTable(columnsOf(stack), forPeople(heads, language))
  async function* text(): AsyncGenerator<string> {
    yield table.head()
    for (let at = 0; at < stacks.length; at += SLICE) {
      const slice = stacks.slice(at, at + SLICE)
      const names = stacksOf(slice)
      const named = await namesOf(deps.store, accountId, stack, names)
      yield table.lines(slice.map((row, i) => ({ ...named(names[i]!), ...shownTotals(addUp([row])) })))
    }
    yield table.end(stacks.length)
  }
  return text()
}
