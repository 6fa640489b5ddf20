/**
 * The columns of a request in one table: which of them people of its account see, and which operators do, in lists, on
 * receipts and in files. What upstreams take, which channels there are, and ids of upstreams are for operators only.
 */
import { iso } from '../../base/clock.ts'
import { z } from 'zod'
import { timeOfId } from '../../base/ids.ts'
import { decimal, decimalText, formatMicro, type Micro, subtract } from '../../base/money.ts'
import type { BookedRow } from '../../store/usage/rows.ts'
import type { KeyLabel } from '../../store/accounts/keys.ts'
import type { RefusedRequest } from '../../store/usage/queries.ts'
import { CLIENT_PROTOCOLS, PROTOCOLS } from '../../protocols/names.ts'
import { FEES, isByPiece, isToolFee, TOKEN_CLASSES, type ToolFee } from '../../protocols/words/usage.ts'
import { BASES, ENDS, type Line, ROW_CLASSES } from '../../terms/usage-row.ts'
import type { CsvColumn } from '../csv.ts'
import { both, type Words } from '../error.ts'
import { bothWords, idText, keyLabel, moneyOrNull, moneyText, timeText, wholeCount, wholeMs } from '../fields.ts'
import { BOUNDED, END_WORDS, ratioText, reasonWords, restsOn } from './words.ts'

/** A row, and what stands in other tables about it. */
export interface SeenRow {
  row: BookedRow
  /** The key, for the people of the account; undefined = it is not known any more. */
  key?: KeyLabel | undefined
  /** The name of its account, for operators. */
  account?: string | undefined
  /** Tells when a version of a model's price came into force. */
  since?: (model: string, version: number) => number | undefined
}

/**
 * Where a column is seen. `row`: in lists, and on receipts; `receipt`: on receipts only; `file`: in files; `never`: nowhere.
 */
type Place = 'row' | 'row file' | 'receipt' | 'receipt file' | 'file' | 'never'

/** `head`: in files for people. `foreign`: the texts are chosen by clients, upstreams or people. */
const column = <const N extends string, const P extends Place, const O extends Place, S extends z.ZodType>(
  name: N,
  people: P,
  operators: O,
  schema: S,
  value: (seen: SeenRow) => unknown,
  { head, foreign }: { head?: Words; foreign?: true } = {},
) => ({ name, people, operators, schema, value, head, foreign })

/** A column that everybody sees everywhere. */
const open = <const N extends string, S extends z.ZodType>(
  name: N,
  head: Words,
  schema: S,
  value: (row: BookedRow) => unknown,
  foreign?: true,
) => column(name, 'row file', 'row file', schema, ({ row }) => value(row), { head, ...(foreign && { foreign }) })

/** A column of operators alone, of which no answer for people has a schema. */
const hidden = <const N extends string, const O extends Place>(
  name: N,
  operators: O,
  value: (seen: SeenRow) => unknown,
  foreign?: true,
) => column(name, 'never', operators, z.unknown(), value, foreign && { foreign })

export const COUNT_WORDS: Record<(typeof ROW_CLASSES)[number] | 'images', Words> = {
  input: both('输入', 'Input'),
  cache_read: both('缓存读取', 'Cache read'),
  cache_write_5m: both('缓存写入 5 分钟', 'Cache write 5 min'),
  cache_write_1h: both('缓存写入 1 小时', 'Cache write 1 h'),
  output: both('输出', 'Output'),
  images: both('图片', 'Pictures'),
}

const requestId = z.string().regex(/^[0-9a-z]{1,64}$/)
const text = z.string()

const price = (line: Line) => ({
  model: line.model,
  price_version: line.priceVersion,
  list: line.list,
  tier: String(decimal(line.tier)),
  tier_name: line.tierName,
  class: line.class,
  price_row: line.priceRow ?? null,
  count: line.count,
  price: formatMicro(line.price as Micro),
})

/** Amounts of lines are whole numbers of 10^−18 CNY. */
const AMOUNT_PLACES = 18

/** The amount of a line before the multiplier, in units of 10^−18 CNY. */
const amountOf = ({ class: name, count, price, tier }: Line): bigint =>
  BigInt(count) * BigInt(price) * BigInt(tier) * (isByPiece(name) ? 1_000_000n : 1n)

const amountText = (amount: bigint): string => decimalText(amount, AMOUNT_PLACES)

/** The price of a tool of the upstream, by the piece. */
const toolFee = z
  .custom<ToolFee>(name => typeof name === 'string' && isToolFee(name))
  .meta({
    description: '`maps`, `code_execution`, `container.` and a size, or `tools.` and a name.',
    type: 'string',
    pattern: '^(maps|code_execution|container\\..+|tools\\..+)$',
  })

const receiptLine = z
  .strictObject({
    model: text,
    price_version: z.int().nullable(),
    price_since: timeText.nullable(),
    list: z.union([z.literal('base'), z.int()]),
    tier: text,
    tier_name: text.nullable(),
    class: z.union([z.enum([...TOKEN_CLASSES, ...FEES]), toolFee]),
    price_row: text.nullable().meta({ description: 'Of pictures: the size and quality whose price applied.' }),
    count: z.number(),
    price: moneyText,
    /** The number of pieces that the price is for. */
    per: z.int(),
    amount: text,
  })
  .meta({ id: 'ReceiptLine' })

function shownLine(line: Line, since: SeenRow['since']): z.output<typeof receiptLine> {
  const { model, priceVersion: version } = line
  const sinceMs = version === null ? undefined : since?.(model, version)
  return {
    ...price(line),
    price_since: sinceMs === undefined ? null : iso(sinceMs),
    per: isByPiece(line.class) ? 1 : 1_000_000,
    amount: amountText(amountOf(line)),
  }
}

const MULTIPLIER = both('倍率', 'Multiplier')
const multiplierOf = ({ multiplier }: BookedRow) => (multiplier === null ? null : decimal(multiplier))

/** In the order of the files. */
const COLUMNS = [
  open('request_id', both('请求编号', 'Request id'), requestId, row => row.requestId),
  open('at', both('时间（UTC）', 'Time (UTC)'), timeText, row => iso(timeOfId(row.requestId))),
  column('booked_at', 'receipt file', 'row file', timeText, ({ row }) => iso(row.bookedAtMs), {
    head: both('入账时间（UTC）', 'Booked at (UTC)'),
  }),
  hidden('account', 'row file', ({ account }) => account, true),
  hidden('key', 'row file', ({ row }) => row.keyId),
  column('key', 'row', 'never', keyLabel.nullable(), ({ key }) => shownKey(key)),
  column('key_id', 'file', 'never', idText, ({ key }) => key?.publicId ?? null, { head: both('密钥编号', 'Key id') }),
  column('key', 'file', 'never', text, ({ key }) => key?.name ?? null, { head: both('密钥', 'Key'), foreign: true }),
  column('model', 'row file', 'never', text, ({ row }) => row.model, { head: both('模型', 'Model'), foreign: true }),
  open('group', both('分组', 'Group'), text, row => row.group, true),
  open('protocol', both('协议', 'Protocol'), z.enum(CLIENT_PROTOCOLS), row => row.protocol),
  hidden('via', 'row file', ({ row }) => row.via),
  hidden('model', 'row file', ({ row }) => row.model, true),
  hidden('channel', 'row file', ({ row }) => row.channel, true),
  open('status', both('状态码', 'Status'), z.int(), row => row.status),
  open('end', both('结束方式', 'End'), z.enum(ENDS), row => row.end),
  open('outcome', both('结果', 'Outcome'), z.enum(['ok', 'client', 'upstream']), row => row.outcome),
  open('basis', both('计费依据', 'Basis'), z.enum(BASES), row => row.basis),
  ...ROW_CLASSES.map(name => open(name, COUNT_WORDS[name], wholeCount, row => row[name])),
  hidden('pieces', 'row file', ({ row }) => row.images),
  column('images', 'row file', 'row', wholeCount, ({ row }) => row.images, { head: COUNT_WORDS.images }),
  open('charge', both('费用（元）', 'Charge (CNY)'), moneyText, row => formatMicro(row.charge)),
  /** What the upstream reported above what the request can have caused, at the same prices; it is not charged. */
  column('disputed', 'receipt', 'row file', moneyText, ({ row }) => formatMicro(row.disputed)),
  hidden('cost', 'row file', ({ row }) => moneyOrNull(row.cost)),
  hidden('margin', 'row file', ({ row }) => marginOf(row)),
  column('held', 'receipt file', 'row file', moneyText.nullable(), ({ row }) => moneyOrNull(row.held), {
    head: both('预扣（元）', 'Held (CNY)'),
  }),
  column('released', 'receipt', 'never', moneyText.nullable(), ({ row: { held, charge } }) =>
    held === null ? null : formatMicro(subtract(held, charge)),
  ),
  column('multiplier', 'receipt file', 'never', text.nullable(), ({ row }) => textOrNull(multiplierOf(row)), {
    head: MULTIPLIER,
  }),
  column('price_version', 'file', 'never', z.int().nullable(), ({ row }) => row.priceVersion, {
    head: both('价格版本', 'Price version'),
  }),
  column('hidden_ratio', 'receipt file', 'row file', text.nullable(), ({ row }) => ratioText(row), {
    head: both('隐藏系数', 'Hidden ratio'),
  }),
  hidden('multiplier', 'receipt file', ({ row }) => multiplierOf(row)),
  hidden('price_version', 'receipt file', ({ row }) => row.priceVersion),
  column('asked_ms', 'receipt file', 'row file', wholeMs.nullable(), ({ row }) => row.askedMs, {
    head: both('转发前（毫秒）', 'Until the upstream was asked (ms)'),
  }),
  open('first_byte_ms', both('首字节（毫秒）', 'First byte (ms)'), wholeMs.nullable(), row => row.firstByteMs),
  open('duration_ms', both('总时长（毫秒）', 'Duration (ms)'), wholeMs, row => row.durationMs),
  column('attempts', 'receipt file', 'never', wholeCount, ({ row }) => row.attempts.length, {
    head: both('尝试次数', 'Attempts'),
  }),
  hidden('attempts', 'row', ({ row }) => row.attempts),
  hidden('upstream_id', 'row file', ({ row }) => row.upstreamId, true),
  hidden('answer_id', 'row file', ({ row }) => row.answerId, true),
  // of a translated answer the client knows an id of ours, and not its upstream's
  column('answer_id', 'receipt file', 'never', text.nullable(), ({ row }) => (row.via === null ? row.answerId : null), {
    head: both('回答编号', 'Answer id'),
    foreign: true,
  }),
  open('client_request_id', both('客户端编号', 'Client’s id'), text.nullable(), row => row.clientRequestId, true),
  column('lines', 'receipt', 'never', z.array(receiptLine), ({ row, since }) =>
    row.lines.map(line => shownLine(line, since)),
  ),
  hidden('lines', 'receipt', ({ row }) => row.lines.map(price)),
  /** The sum of the lines, before the multiplier and the rounding. */
  column('sum', 'receipt', 'never', text, ({ row }) =>
    amountText(row.lines.reduce((sum, line) => sum + amountOf(line), 0n)),
  ),
  column('ended', 'receipt', 'never', bothWords, ({ row }) => END_WORDS[row.end]),
  column('rests_on', 'receipt', 'never', bothWords, ({ row }) => (row.disputed > 0 ? BOUNDED : restsOn(row))),
]

type Column = (typeof COLUMNS)[number]
/** The fields of an answer for people, of columns that stand in these places. */
type Shape<P extends Place> = { [C in Column as C['people'] extends P ? C['name'] : never]: C['schema'] }
type OnRow = 'row' | 'row file'
type OnReceipt = OnRow | 'receipt' | 'receipt file'

type Audience = 'people' | 'operators'

/** Columns of lists or of receipts, as `level` says. */
const at = (audience: Audience, level: 'row' | 'receipt'): Column[] =>
  COLUMNS.filter(one => one[audience].startsWith('row') || (level === 'receipt' && one[audience].startsWith(level)))

const shapeOf = (level: 'row' | 'receipt') => Object.fromEntries(at('people', level).map(one => [one.name, one.schema]))

/** Makes an object of the columns of a row. */
const shower = (columns: readonly Column[]) => (seen: SeenRow) =>
  Object.fromEntries(columns.map(({ name, value }) => [name, value(seen)]))

export const requestAnswer = z.strictObject(shapeOf('row') as Shape<OnRow>).meta({ id: 'Request' })
export const receiptFields = z.strictObject(shapeOf('receipt') as Shape<OnReceipt>).meta({ id: 'Receipt' })
export type RequestAnswer = z.output<typeof requestAnswer>

/** A request in a list of its account. */
export const ownRow = shower(at('people', 'row')) as (seen: SeenRow) => RequestAnswer
/** A request with its receipt, for people of its account. */
export const ownReceipt = shower(at('people', 'receipt')) as (seen: SeenRow) => z.output<typeof receiptFields>
/** A request in a list of operators. */
export const operatorsRow = shower(at('operators', 'row'))
export const operatorsReceipt = shower(at('operators', 'receipt'))

/** The columns of a file. Lists do not fit into a table: the files of JSON have them. */
export const fileColumns = (audience: Audience): CsvColumn<SeenRow>[] =>
  COLUMNS.filter(one => one[audience].endsWith('file')).map(({ name, head, foreign, value }) => ({
    name,
    ...(audience === 'people' && head !== undefined ? { head } : {}),
    ...(foreign && { foreign }),
    value: value as CsvColumn<SeenRow>['value'],
  }))

const textOrNull = (value: number | null): string | null => (value === null ? null : String(value))

const marginOf = ({ charge, cost }: BookedRow): string | null =>
  cost === null ? null : formatMicro(subtract(charge, cost))

export const shownKey = (label: KeyLabel | undefined) =>
  label === undefined ? null : { id: label.publicId, name: label.name, deleted: label.deleted }

const attemptFields = z.strictObject({ channel: text, status: z.int(), error: text.nullable(), ms: z.number() })
export const internalFields = z.strictObject({
  channel: text,
  via: z.enum(PROTOCOLS).nullable(),
  upstream_id: text.nullable(),
  cost: moneyText.nullable(),
  margin: moneyText.nullable(),
  attempts: z.array(attemptFields),
  /** The attempts that have rows of their own. */
  uncharged: z.array(
    z.strictObject({
      request_id: text,
      channel: text,
      status: z.int(),
      cost: moneyText.nullable(),
      upstream_id: text.nullable(),
    }),
  ),
})

/** What an operator sees of a request beside what the people of its account do. */
export const shownInternal = (row: BookedRow, uncharged: readonly BookedRow[]): z.output<typeof internalFields> => ({
  channel: row.channel,
  via: row.via,
  upstream_id: row.upstreamId,
  cost: moneyOrNull(row.cost),
  margin: marginOf(row),
  attempts: [...row.attempts],
  uncharged: uncharged.map(one => ({
    request_id: one.requestId,
    channel: one.channel,
    status: one.status,
    cost: moneyOrNull(one.cost),
    upstream_id: one.upstreamId,
  })),
})

/** An attempt with a row of its own, on the receipt of its request for operators. */
export const shownAttempt = (row: BookedRow) => ({
  request_id: row.requestId,
  ...row.attempts[0],
  cost: moneyOrNull(row.cost),
  upstream_id: row.upstreamId,
})

export const refusalAnswer = z
  .strictObject({
    request_id: requestId,
    at: timeText,
    key: keyLabel.nullable(),
    model: text.nullable(),
    reason: text,
    status: z.int(),
    address: text,
    why: bothWords,
    todo: bothWords,
  })
  .meta({ id: 'Refusal' })
export type RefusedAnswer = z.output<typeof refusalAnswer>

const refused = ({ requestId, atMs, reason, status, address }: RefusedRequest) => ({
  request_id: requestId,
  at: iso(atMs),
  reason,
  status,
  address,
})

export const ownRefusal = (refusal: RefusedRequest, key: KeyLabel | undefined): RefusedAnswer => ({
  ...refused(refusal),
  key: shownKey(key),
  model: refusal.model === '' ? null : refusal.model,
  ...reasonWords(refusal.reason),
})

export function operatorsRefusal(refusal: RefusedRequest, account: string | undefined) {
  const { why, todo } = reasonWords(refusal.reason)
  const { keyId: key, model } = refusal
  return { refused: { ...refused(refusal), account, key, model, why: why.en, todo: todo.en } }
}
