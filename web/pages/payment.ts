/** One order, for operators: its course, its proofs, what went back of it, and what does not fit. */
import { signal } from '@preact/signals'
import type { ShownException, WholeOrder } from '../../lib/console/answers.ts'
import { get } from '../base/ask.ts'
import { a, button, type Child, code, dd, dl, dt, h2, p, section, span } from '../base/element.ts'
import { load } from '../base/load.ts'
import { exactMoney } from '../base/money.ts'
import { actions, type View } from '../base/page.ts'
import { badge, type Tone } from '../parts/badge.ts'
import { copyable } from '../parts/copy.ts'
import { rows } from '../parts/listing.ts'
import { methodName, stateBadge } from '../parts/order-words.ts'
import { whenLoaded } from '../parts/state.ts'
import { moment } from '../base/time.ts'
import { words } from '../base/words.ts'
import { exceptionTable, resolveDialog } from './payments/exceptions.ts'
import { refundDialog } from './payments/refund.ts'
import { releaseDialog } from './payments/release.ts'

const w = words({
  back: ['全部订单', 'All orders'],
  refund: ['退款', 'Refund'],
  release: ['立即入账', 'Credit it now'],
  heldUntil: ['暂缓入账至', 'Held until'],
  about: ['订单', 'Order'],
  id: ['订单号', 'Id'],
  account: ['账户', 'Account'],
  user: ['创建者', 'Begun by'],
  state: ['状态', 'State'],
  late: ['晚到', 'Late'],
  sandbox: ['测试环境', 'Test environment'],
  method: ['支付方式', 'Way to pay'],
  amount: ['金额', 'Amount'],
  asked: ['应付', 'Amount due'],
  rate: ['汇率', 'Rate'],
  merchant: ['商户', 'Merchant'],
  provider: ['服务商编号', 'Id at the provider'],
  tx: ['交易', 'Transaction'],
  sender: ['转出地址', 'Sent from'],
  block: ['区块', 'Block'],
  quoted: ['锁定汇率的数量', 'With the rate of a quote'],
  receiver: ['收款地址', 'Receiver'],
  made: ['创建时间', 'Created'],
  expires: ['可支付至', 'Can be paid until'],
  paid: ['付款时间', 'Paid'],
  creditedAt: ['入账时间', 'Credited at'],
  check: ['下次询问', 'Next question'],
  credited: ['入账', 'Credited'],
  refunded: ['已退款', 'Refunded'],
  frozen: ['冻结', 'Frozen'],
  reversed: ['被撤销', 'Taken back'],
  refundable: ['目前可退', 'Can be refunded now'],
  proofs: ['付款证明', 'Proofs'],
  noProofs: ['还没有付款证明。', 'There is no proof of a payment yet.'],
  transaction: ['服务商流水号', 'Payment at the provider'],
  source: ['来源', 'Source'],
  at: ['时间', 'When'],
  by: ['决定者与原因', 'Who, and why'],
  refunds: ['退款与争议', 'Refunds and disputes'],
  kind: ['类型', 'Kind'],
  number: ['编号', 'Number'],
  reason: ['原因', 'Reason'],
  exceptions: ['异常', 'Exceptions'],
})

const SOURCES = words({
  callback: ['通知', 'Callback'],
  chain: ['第二个节点', 'Second node'],
  query: ['查询', 'Question'],
  bill: ['账单', 'Bill'],
  operator: ['人工决定', 'A person'],
})
const KINDS = words({
  refund: ['退款', 'Refund'],
  external: ['在服务商处的退款', 'Refund at the provider'],
  dispute: ['争议', 'Dispute'],
})
const STATES = words({
  frozen: ['冻结中', 'Frozen'],
  done: ['已退回', 'Gone back'],
  released: ['已解冻', 'Released'],
})
const TONES = { frozen: 'warn', done: 'plain', released: 'good' } as const satisfies Record<string, Tone>

const idOf = () => decodeURIComponent(location.pathname.split('/').at(-1) ?? '')

export default function payment(): View {
  const id = idOf()
  const loaded = load(() => get<WholeOrder>(`/payments/orders/${encodeURIComponent(id)}`))
  const refunding = signal<WholeOrder | null>(null)
  const releasing = signal<WholeOrder | null>(null)
  const chosen = signal<ShownException | null>(null)
  const refund = refundDialog(refunding, loaded.again)
  const release = releaseDialog(releasing, loaded.again)
  const resolve = resolveDialog(chosen, loaded.again)
  actions.value = () => {
    const order = loaded.value.value
    return [
      a({ class: 'button', href: '/console/payments' }, w.back()),
      order !== null &&
        (order.held_until !== null || order.waits_for === 'others') &&
        button({ type: 'button', onClick: () => (releasing.value = order) }, w.release()),
      order !== null &&
        order.credited_at !== null &&
        button({ type: 'button', class: 'danger', onClick: () => (refunding.value = order) }, w.refund()),
    ]
  }
  return () => [
    whenLoaded(loaded, order => [
      aboutPanel(order),
      proofsPanel(order.proofs),
      order.refunds.length > 0 && refundsPanel(order.refunds),
      order.exceptions.length > 0 &&
        section(
          { class: 'panel', 'aria-labelledby': 'exceptions' },
          h2({ id: 'exceptions' }, w.exceptions()),
          exceptionTable(order.exceptions, chosen),
        ),
    ]),
    refund(),
    release(),
    resolve(),
  ]
}

const pair = (title: string, value: Child): Child => [dt({}, title), dd({}, value)]
const at = (iso: string | null): Child => (iso === null ? '–' : moment(iso, true))

const aboutPanel = (order: WholeOrder): Child =>
  section(
    { class: 'panel', 'aria-labelledby': 'about' },
    h2({ id: 'about' }, w.about()),
    dl(
      { class: 'pairs' },
      pair(w.id(), copyable(order.id, w.id())),
      pair(w.state(), [
        stateBadge(order),
        ' ',
        order.late && badge('warn', w.late()),
        order.sandbox && badge('plain', w.sandbox()),
      ]),
      pair(w.account(), order.account?.name ?? '–'),
      pair(w.user(), order.user?.name ?? '–'),
      pair(w.method(), methodName(order.method)),
      pair(w.amount(), exactMoney(order.amount)),
      pair(w.asked(), `${order.asked} ${order.currency}`),
      order.rate !== null && pair(w.rate(), exactMoney(order.rate)),
      pair(w.merchant(), code({}, order.merchant)),
      pair(w.provider(), order.provider_id === null ? '–' : code({}, order.provider_id)),
      order.transaction !== null && pair(w.tx(), code({}, order.transaction)),
      order.transfer !== null && transferPairs(order.transfer),
      pair(w.made(), at(order.created_at)),
      pair(w.expires(), at(order.expires_at)),
      pair(w.paid(), at(order.paid_at)),
      order.held_until !== null && pair(w.heldUntil(), at(order.held_until)),
      pair(w.creditedAt(), at(order.credited_at)),
      order.check_at !== null && pair(w.check(), at(order.check_at)),
      pair(w.credited(), exactMoney(order.credited)),
      pair(w.refunded(), exactMoney(order.refunded)),
      pair(w.frozen(), exactMoney(order.frozen)),
      pair(w.reversed(), exactMoney(order.reversed)),
      pair(w.refundable(), exactMoney(order.refundable)),
    ),
  )

const transferPairs = ({ sender, block, quoted, quoted_rate }: NonNullable<WholeOrder['transfer']>): Child => [
  pair(w.sender(), code({}, sender)),
  pair(w.block(), String(block)),
  quoted_rate !== null && pair(w.quoted(), `${quoted} USDT · ${exactMoney(quoted_rate)}`),
]

const proofsPanel = (proofs: WholeOrder['proofs']): Child =>
  section(
    { class: 'panel', 'aria-labelledby': 'proofs' },
    h2({ id: 'proofs' }, w.proofs()),
    proofs.length === 0
      ? p({ class: 'soft' }, w.noProofs())
      : rows<WholeOrder['proofs'][number]>({
          caption: w.proofs(),
          rows: proofs,
          keyOf: row => row.transaction,
          columns: [
            { title: w.transaction(), cell: row => code({}, row.transaction) },
            { title: w.amount(), narrow: 'beside', number: true, cell: row => `${row.amount} ${row.currency}` },
            { title: w.source(), cell: row => SOURCES[row.source]() },
            { title: w.at(), cell: row => moment(row.paid_at ?? row.at, true) },
            {
              title: w.by(),
              cell: row => (row.by === null ? '–' : [row.reason ?? '', span({ class: 'under' }, row.by)]),
            },
          ],
        }),
  )

const refundsPanel = (refunds: WholeOrder['refunds']): Child =>
  section(
    { class: 'panel', 'aria-labelledby': 'refunds' },
    h2({ id: 'refunds' }, w.refunds()),
    rows<WholeOrder['refunds'][number]>({
      caption: w.refunds(),
      rows: refunds,
      keyOf: row => row.id,
      columns: [
        { title: w.kind(), cell: row => KINDS[row.kind]() },
        { title: w.state(), cell: row => badge(TONES[row.state], STATES[row.state]()) },
        { title: w.amount(), number: true, cell: row => exactMoney(row.amount) },
        {
          title: w.at(),
          cell: row => [
            moment(row.at, true),
            row.ended_at !== null && span({ class: 'under' }, moment(row.ended_at, true)),
          ],
        },
        {
          title: w.number(),
          cell: row => [
            code({}, row.id),
            (row.provider_id ?? row.tx) !== null && span({ class: 'under' }, row.provider_id ?? row.tx),
          ],
        },
        {
          title: w.reason(),
          cell: row => [
            row.reason,
            row.receiver !== null &&
              span({ class: 'under' }, `${row.tokens} USDT · ${w.receiver()} `, code({}, row.receiver)),
            row.ending !== null && span({ class: 'under' }, row.ending),
            span({ class: 'under' }, row.by),
          ],
        },
      ],
    }),
  )
