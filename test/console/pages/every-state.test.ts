/**
 * The furnished console has a row in every state that there is, so that what looks at its pages (axe, widths, hostile texts) has seen each
 * of them. The states are those of the tables of `lib`; the words are what the pages call them.
 */
import t from 'tap'
import type { VNode } from 'preact'
import { KEY_STATES } from '../../../lib/operations/accounts/own-keys.ts'
import { MODEL_STATES } from '../../../lib/operations/catalogue/public-catalogue.ts'
import { ROLES } from '../../../lib/base/people.ts'
import { ORDER_MOVES } from '../../../lib/terms/order-moves.ts'
import {
  type OrderMethod,
  type OrderState,
  PAY_EXCEPTIONS,
  REFUND_KINDS,
  REFUND_STATES,
} from '../../../lib/terms/pay.ts'
import { ENDS, OUTCOMES } from '../../../lib/terms/usage-row.ts'
import { stateName as keyState } from '../../../web/pages/keys/shown.ts'
import { language } from '../../../web/base/words.ts'
import { kindName } from '../../../web/parts/entry-words.ts'
import { exceptionName } from '../../../web/parts/exception-words.ts'
import { stateBadge } from '../../../web/parts/order-words.ts'
import { endName, outcomeName } from '../../../web/parts/request-words.ts'
import { roleName } from '../../../web/parts/roles.ts'
import { browserTest } from '../support/browser.ts'
import { furnish } from '../support/furnished.ts'
import { giveSession } from '../support/pages.ts'

language.value = 'en'

const wordOf = (badge: VNode<{ children?: unknown }>): string => String(badge.props.children)

/** Every state of an order that a move leads to, and those that wait, by how they are paid. Transfers are neither begun nor ended by anybody. */
function orderWords(): string[] {
  const states = [...new Set(ORDER_MOVES.flatMap(([from, to]) => [from, to]))]
  const of = (state: OrderState, method: OrderMethod, waits: object = {}) =>
    wordOf(stateBadge({ state, method, held_until: null, waits_for: null, ...waits }) as VNode<{ children?: unknown }>)
  return [
    ...states.map(state => of(state, 'alipay')),
    of('paid', 'card', { held_until: '2030-01-01T00:00:00Z' }),
    of('paid', 'usdt', { waits_for: 'rate' }),
    ...(['pending', 'failed', 'credited', 'refunded'] as const).map(state => of(state, 'usdt')),
  ]
}

const outcomes = OUTCOMES.filter(name => name !== 'attempt') // of one attempt among several, which operators see
const broken = ENDS.filter(end => end !== 'completed') // a good end is not told in the list
/** An entry that the page sums up is none of the table of kinds. */
const ENTRIES = [
  'opening',
  'topup',
  'payment',
  'adjustment',
  'refund',
  'freeze',
  'release',
  'reversal',
  'settlement',
  'charges',
]
/** Strangers and members are shown no model without a price. */
const models = MODEL_STATES.filter(state => state !== 'unpriced').map(
  state => ({ available: 'Available', offline: 'Temporarily offline', resting: 'Resting' })[state as 'available'],
)

browserTest(t, 'every state of every row is shown somewhere', async (t, newcomer) => {
  const at = await furnish(t)
  const visitor = await newcomer({ language: 'en-US' })
  await giveSession(visitor, at.house, at)
  const several = await at.house.store.pay.refund('alipay', 'refund 0')
  const rows: [path: string, within: string, words: readonly string[]][] = [
    ['/topup', 'main .listing tbody .badge', orderWords()],
    ['/payments', 'main tbody .badge', orderWords()],
    ['/payments?exceptions=all', 'main tbody', PAY_EXCEPTIONS.map(kind => exceptionName(kind))],
    [`/payments/${several!.orderId}`, 'main tbody', [...REFUND_STATES, ...REFUND_KINDS].map(name => REFUNDS[name])],
    ['/requests', 'main tbody', [...outcomes.map(outcomeName), ...broken.map(endName), '200 · ']],
    ['/keys', 'main tbody', [...KEY_STATES, 'ip_bound', 'model_bound'].map(name => keyState[name as 'enabled']())],
    ['/keys', 'main tbody', ['Locked by an empty list']],
    ['/billing', 'main .listing tbody', ENTRIES.map(kindName)],
    ['/models', 'main tbody', models],
    ['/team', 'main tbody', ROLES.map(role => roleName(role))],
    [`/requests/${at.requests.pictures}`, 'main', ['1024x1536/high', 'default']],
    [`/requests/${at.requests.broken}`, 'main', [endName('upstream_cut')]],
  ]
  for (const [path, within, words] of rows) {
    await visitor.visit(`${at.house.url}/console${path}`)
    await visitor.drawn()
    const shown = (await visitor.page.locator(within).allInnerTexts()).join('\n')
    t.same(
      words.filter(word => !shown.includes(word)),
      [],
      `${path} shows every state`,
    )
  }
  t.same(visitor.complaints, [])
})

/** What the page of an order calls refunds and their states. */
const REFUNDS: Record<(typeof REFUND_STATES)[number] | (typeof REFUND_KINDS)[number], string> = {
  frozen: 'Frozen',
  done: 'Gone back',
  released: 'Released',
  refund: 'Refund',
  external: 'Refund at the provider',
  dispute: 'Dispute',
}
