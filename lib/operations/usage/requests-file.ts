/**
 * Makes the file of an account's requests, in the thread of exports: reads rows, and writes them out as CSV or a JSON object
 * a line. The last line says how many there were: a file without it has broken off.
 */

import { timeOfId } from '../../base/ids.ts'
import { formatMicro, type Micro, decimal } from '../../base/money.ts'
import type { Store } from '../../store/store.ts'
import type { RequestFilter } from '../../store/usage/queries.ts'
import type { BookedRow } from '../../store/usage/rows.ts'
import type { KeyLabel } from '../../store/accounts/keys.ts'
import type { Language, Words } from '../../base/people.ts'
import { shownRatio } from './shown-ratio.ts'
import { type CsvColumn, CsvTable, forPeople, type Heads } from '../csv.ts'
import { iso, shownReceipt } from './own-shown.ts'

const SLICE = 500

type Reads = Pick<Store, 'keys' | 'usage'>

/** Plain data, for another thread. */
export interface RequestsOrder {
  format: 'csv' | 'jsonl'
  filter: RequestFilter
  heads: Heads
  language: Language
}

interface Exported {
  row: BookedRow
  key: KeyLabel | undefined
}

const both = (zh: string, en: string): Words => ({ zh, en })
const moneyOrNull = (value: Micro | null) => (value === null ? null : formatMicro(value))
const column = (
  name: string,
  head: Words,
  value: CsvColumn<Exported>['value'],
  foreign?: true,
): CsvColumn<Exported> => ({
  name,
  head,
  value,
  ...(foreign === undefined ? {} : { foreign }),
})

const COLUMNS: readonly CsvColumn<Exported>[] = [
  column('request_id', both('请求编号', 'Request id'), ({ row }) => row.requestId),
  column('at', both('时间(UTC)', 'Time (UTC)'), ({ row }) => iso(timeOfId(row.requestId))),
  column('booked_at', both('入账时间(UTC)', 'Booked at (UTC)'), ({ row }) => iso(row.bookedAtMs)),
  column('key_id', both('密钥编号', 'Key id'), ({ key }) => key?.publicId ?? null),
  column('key', both('密钥', 'Key'), ({ key }) => key?.name ?? null, true),
  column('model', both('模型', 'Model'), ({ row }) => row.model, true),
  column('group', both('分组', 'Group'), ({ row }) => row.group, true),
  column('protocol', both('协议', 'Protocol'), ({ row }) => row.protocol),
  column('status', both('状态码', 'Status'), ({ row }) => row.status),
  column('end', both('结束方式', 'End'), ({ row }) => row.end),
  column('outcome', both('结果', 'Outcome'), ({ row }) => row.outcome),
  column('basis', both('计费依据', 'Basis'), ({ row }) => row.basis),
  column('input', both('输入', 'Input'), ({ row }) => row.input),
  column('cache_read', both('缓存读取', 'Cache read'), ({ row }) => row.cache_read),
  column('cache_write_5m', both('缓存写入5分钟', 'Cache write 5 min'), ({ row }) => row.cache_write_5m),
  column('cache_write_1h', both('缓存写入1小时', 'Cache write 1 h'), ({ row }) => row.cache_write_1h),
  column('output', both('输出', 'Output'), ({ row }) => row.output),
  column('images', both('图片', 'Pictures'), ({ row }) => row.images),
  column('charge', both('费用(元)', 'Charge (CNY)'), ({ row }) => formatMicro(row.charge)),
  column('held', both('预扣(元)', 'Held (CNY)'), ({ row }) => moneyOrNull(row.held)),
  column('multiplier', both('倍率', 'Multiplier'), ({ row }) =>
    row.multiplier === null ? null : String(decimal(row.multiplier)),
  ),
  column('price_version', both('价格版本', 'Price version'), ({ row }) => row.priceVersion),
  column('hidden_ratio', both('隐藏系数', 'Hidden ratio'), ({ row }) => shownRatio(row)),
  column('asked_ms', both('转发前(毫秒)', 'Until the upstream was asked (ms)'), ({ row }) => row.askedMs),
  column('first_byte_ms', both('首字节(毫秒)', 'First byte (ms)'), ({ row }) => row.firstByteMs),
  column('duration_ms', both('总时长(毫秒)', 'Duration (ms)'), ({ row }) => row.durationMs),
  column('attempts', both('尝试次数', 'Attempts'), ({ row }) => row.attempts.length),
  column('answer_id', both('回答编号', 'Answer id'), ({ row }) => (row.via === null ? row.answerId : null), true),
  column('client_request_id', both('客户端编号', 'Client’s id'), ({ row }) => row.clientRequestId, true),
]

/** All rows of a filter, newest first. Between two slices nothing is held in the store. */
async function* slices(store: Reads, filter: RequestFilter): AsyncGenerator<Exported[]> {
  for (let after: string | null | undefined; after !== null; ) {
    const page = await store.usage.requestPage(filter, { ...(after === undefined ? {} : { after }), limit: SLICE })
    const labels = await store.keys.labels(
      filter.accountId,
      page.rows.map(row => row.keyId),
    )
    yield page.rows.map(row => ({ row, key: labels.get(row.keyId) }))
    after = page.next
  }
}

const jsonLine = ({ row, key }: Exported): string => {
  const labels = new Map(key === undefined ? [] : [[key.id, key]])
  const { ended: _, rests_on: __, ...receipt } = shownReceipt(row, labels, () => undefined)
  return `${JSON.stringify(receipt)}\n`
}

export default async function* (
  store: Reads,
  { format, filter, heads, language }: RequestsOrder,
): AsyncGenerator<string> {
  let count = 0
  const table = new CsvTable(COLUMNS, forPeople(heads, language))
  if (format === 'csv') yield table.head()
  for await (const slice of slices(store, filter)) {
    count += slice.length
    yield format === 'csv' ? table.lines(slice) : slice.map(jsonLine).join('')
  }
  yield format === 'csv' ? table.end(count) : `${JSON.stringify({ count })}\n`
}
