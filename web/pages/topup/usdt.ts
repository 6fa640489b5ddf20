/** USDT: the account's address, the rate and how long it holds, and what is on its way. What came stands among the orders. */
import { effect, signal } from '@preact/signals'
import type { ShownOrders, ShownUsdt } from '../../../lib/console/answers.ts'
import { get, Refused, send } from '../../base/ask.ts'
import { code, div, h2, p, section } from '../../base/element.ts'
import { type Loaded, load, whenSeen } from '../../base/load.ts'
import { money, unitPrice } from '../../base/money.ts'
import { say } from '../../base/page.ts'
import { copyable } from '../../parts/copy.ts'
import { textField } from '../../parts/field.ts'
import { formOf } from '../../parts/form.ts'
import { lateQr } from '../../parts/late-qr.ts'
import { methodMark, playPayer } from '../../parts/order-words.ts'
import { told, whenLoaded } from '../../parts/state.ts'
import { accountPath } from '../../base/session.ts'
import { stamp } from '../../base/time.ts'
import { words } from '../../base/words.ts'

const w = words({
  title: ['USDT（BNB 智能链）', 'USDT on BNB Smart Chain'],
  network: [
    '只能通过 BNB 智能链（BEP-20）向此地址转入 USDT。通过其他网络转入，或转入其他代币，将无法找回。',
    'Send only USDT, and only on BNB Smart Chain (BEP-20). What is sent on another network, or any other token, is lost.',
  ],
  test: ['这是测试网络，代币没有价值。', 'This is a test network, its tokens are worth nothing.'],
  contract: ['USDT 合约', 'Contract of USDT'],
  issue: ['获取充值地址', 'Get an address'],
  address: ['充值地址', 'Address'],
  scan: ['充值地址的二维码', 'The address as a QR code'],
  yours: [
    '此地址只属于该账户，一直有效，可多次充值。',
    'The address belongs to this account alone. It stays valid, for any number of transfers.',
  ],
  rate: [
    (rate: string, until: string) => `当前汇率：1 USDT = ${rate}，有效至 ${until}。`,
    (rate: string, until: string) => `1 USDT is ${rate} now, until ${until}.`,
  ],
  noRate: [
    '暂无汇率：转入的 USDT 将等待汇率更新后入账。',
    'There is no rate at the moment: what you send waits until there is one.',
  ],
  fix: ['锁定汇率（元）', 'Fix the rate for an amount (CNY)'],
  fixHint: [
    (least: string) => `至少 ${least}。汇率锁定半小时，只对一笔转账有效；重新锁定会取消上一次。`,
    (least: string) =>
      `At least ${least}. The rate is fixed for half an hour and one transfer; fixing it again ends the one before.`,
  ],
  fixNow: ['锁定', 'Fix it'],
  quoted: [
    (tokens: string, worth: string, until: string) =>
      `请在 ${until} 前一次转入 ${tokens} USDT，将入账 ${worth}。超出部分按入账时的汇率计算。`,
    (tokens: string, worth: string, until: string) =>
      `Send ${tokens} USDT in one transfer before ${until} for ${worth}. Whatever is more takes the rate of its time.`,
  ],
  waiting: [
    (sum: string, least: string) => `已到账 ${sum}，合计达到 ${least} 后自动入账。`,
    (sum: string, least: string) => `Transfers of ${sum} wait. They are credited when they come to ${least} together.`,
  ],
  seen: [
    (tokens: string) => `${tokens} USDT 已发出，正在等待区块确认。`,
    (tokens: string) => `${tokens} USDT are on their way, and wait for their block to become final.`,
  ],
  arrived: ['USDT 已入账', 'USDT credited'],
})

type Usdt = NonNullable<ShownUsdt['usdt']>

const LIVE = 56
const FIRST_MS = 4_000
const MOST_MS = 30_000
const QUOTE = 'quote-amount'

/** `pays`: the reader may ask for an address. `orders`: those of the account, among which transfers stand when they are final. */
export function usdtPanel(pays: boolean, orders: Loaded<ShownOrders>, payer: () => string | null) {
  const asked = load(() => get<ShownUsdt>(`${accountPath()}/usdt`))
  keepAsking(asked, orders)
  const issue = formOf(async () => {
    await send('POST', `${accountPath()}/usdt/address`)
    asked.again()
  })
  const amount = signal('')
  const fix = formOf(async () => {
    try {
      await send('POST', `${accountPath()}/usdt/quote`, { amount: amount.value.trim() })
    } catch (error) {
      // The form of orders on this page has a field of this name already.
      const wrong = error instanceof Refused ? error.fields['amount'] : undefined
      if (wrong === undefined) throw error
      fix.refuse(QUOTE, wrong)
    }
    asked.again()
  })
  const shown = ({ usdt, seen }: ShownUsdt & { usdt: Usdt }) => [
    told('warn', w.network(), usdt.chain_id !== LIVE && ` ${w.test()}`),
    usdt.address === null
      ? pays && issue.view('', issue.submit('main', w.issue()))
      : div(
          { class: 'stack' },
          p({}, w.yours()),
          lateQr(usdt.address, w.scan()),
          copyable(usdt.address, w.address()),
          playPayer(payer(), `to=${usdt.address}`),
          p({ class: 'soft' }, `${w.contract()} `, code({}, usdt.contract)),
        ),
    usdt.rate === null
      ? told('warn', w.noRate())
      : p({}, w.rate(unitPrice(usdt.rate.rate), stamp(usdt.rate.until, false))),
    usdt.quote !== null &&
      told('plain', w.quoted(usdt.quote.tokens, money(usdt.quote.amount), stamp(usdt.quote.until))),
    seen.map(({ tx, log_index, amount: tokens }) => div({ key: `${tx} ${log_index}` }, told('plain', w.seen(tokens)))),
    usdt.waiting !== null && told('warn', w.waiting(money(usdt.waiting), money(usdt.minimum))),
    pays &&
      usdt.address !== null &&
      usdt.rate !== null &&
      fix.view(
        'tall narrow',
        textField(
          {
            name: QUOTE,
            label: w.fix(),
            error: fix.error(QUOTE),
            hint: w.fixHint(money(usdt.minimum)),
          },
          amount,
          { inputMode: 'decimal', autoComplete: 'off' },
        ),
        fix.submit('', w.fixNow()),
      ),
  ]
  const panel = () =>
    section(
      { class: 'panel', 'aria-labelledby': 'usdt' },
      h2({ id: 'usdt', class: 'row' }, methodMark('usdt'), w.title()),
      whenLoaded(asked, value => value.usdt !== null && shown({ ...value, usdt: value.usdt })),
    )
  return {
    /** Whether USDT is offered; null = nobody knows yet. */
    offered: () => (asked.value.value === null ? null : asked.value.value.usdt !== null),
    view: () => (asked.value.value?.usdt ?? null) !== null && panel(),
  }
}

/** While somebody looks at an address, the page asks what has come, less and less often. */
function keepAsking(asked: Loaded<ShownUsdt>, orders: Loaded<ShownOrders>): void {
  let waitMs = FIRST_MS
  let known: { text: string; credited: number } | null = null
  effect(() => {
    const value = asked.value.value
    const list = orders.value.value
    // asks again after every answer, also after one that says the same, and after none
    void asked.at.value
    void asked.failure.value
    if (value === null || list === null || (value.usdt?.address ?? null) === null) return
    const transfers = list.data.filter(({ method }) => method === 'usdt')
    const credited = transfers.filter(({ state }) => state === 'credited').length
    const text = JSON.stringify([value.seen, transfers, value.usdt?.waiting])
    if (known !== null && credited > known.credited) say(w.arrived())
    if (known?.text !== text) waitMs = FIRST_MS
    known = { text, credited }
    const both = () => {
      orders.again()
      asked.again()
    }
    const timer = setTimeout(() => whenSeen(both), waitMs)
    waitMs = Math.min(MOST_MS, waitMs * 1.2)
    return () => clearTimeout(timer)
  })
}
