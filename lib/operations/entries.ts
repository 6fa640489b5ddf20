/**
 * Operations on an account's entries: top up, adjust, list. A list also shows charges, one line for each day of the
 * config's `zone`. An amount is booked once for each reference, so that a caller who got no answer may ask again.
 */
import { z } from 'zod'
import { formatMicro, type Micro, parseMicro, subtract, ZERO } from '../base/money.ts'
import { accountPurse, type Booked, type Entry, type NewEntry } from '../store/store.ts'
import * as kind from '../config/scalars.ts'
import type { Actor } from '../terms/people.ts'
import type { Account } from '../terms/records.ts'
import { act, entryActor } from './acts.ts'
import { bookLines, cursorOf, formatCursor, readCursor, readDay, showEntry, showLine } from './book.ts'
import { debit } from './debit.ts'
import { inForce, type OperationDeps } from './deps.ts'
import { OperationError } from './error.ts'
import { accountNamed } from './lookups.ts'
import { read, type Sent } from './read.ts'

/** References that begin so are given by the gateway itself. */
const RESERVED = /^(opening|settlement$|topup:|bsc:|refund:|freeze:|dispute:|release:|row:)/

const reference = kind.scalar(
  {
    zh: '凭证号:不是settlement、也不以opening、topup:、bsc:、refund:、freeze:、dispute:、release:或row:开头的名称',
    en: 'a reference: a name that is not settlement, and does not begin with opening, topup:, bsc:, refund:, freeze:, dispute:, release: or row:',
  },
  {},
  (value): string | undefined => {
    const name = kind.name.safeParse(value)
    return name.success && !RESERVED.test(name.data) ? name.data : undefined
  },
)

const MOST_NOTE = 1_000
/** Control characters, which have no place in a statement. */
const CONTROL = /\p{Cc}/u

export const topUpForm = z.strictObject({
  amount: kind.scalar(
    { zh: '大于0的人民币金额,最多6位小数', en: 'an amount of CNY above 0 with at most 6 decimal places' },
    {},
    (value): Micro | undefined => {
      const amount = parseMicro(value)
      return amount === null || amount <= 0 ? undefined : amount
    },
  ),
  reference,
})

/** Words that a statement or the log of actions can show. */
export const noteText = kind.scalar(
  {
    zh: `最多${MOST_NOTE}个字符、不含控制字符的文字`,
    en: `a text of at most ${MOST_NOTE} characters without control characters`,
  },
  {},
  (value): string | undefined =>
    typeof value === 'string' && value.length <= MOST_NOTE && value.isWellFormed() && !CONTROL.test(value)
      ? value.trim()
      : undefined,
)

export const adjustmentForm = z
  .strictObject({
    amount: kind.scalar(
      {
        zh: '不为0的人民币金额,最多6位小数,负数表示扣除',
        en: 'an amount of CNY with at most 6 decimal places, negative to take it away, not 0',
      },
      {},
      (value): Micro | undefined => {
        const amount = parseMicro(value)
        return amount === null || amount === 0 ? undefined : amount
      },
    ),
    reference,
    note: noteText.prefault(''),
    force: z.boolean('true or false').prefault(false),
  })
  .refine(({ force, note }) => !force || note !== '', {
    path: ['note'],
    ...kind.problem({ zh: '使用`force`时须说明原因', en: 'a reason, because of `force`' }),
  })

const MOST_LINES = 1_000
const LINES = 100

const day = kind.scalar({ zh: '日期,例如“2030-01-31”,或时间', en: 'a day like "2030-01-31", or a time' }, {}, readDay)

export const accountEntriesQuery = z.strictObject({
  from: day.optional(),
  to: day.optional(),
  limit: kind.whole(1, MOST_LINES).prefault(LINES),
  after: kind.scalar({ zh: '另一页的`next`', en: 'the `next` of another page' }, {}, readCursor).optional(),
})

export class Entries {
  readonly #deps: OperationDeps

  constructor(deps: OperationDeps) {
    this.#deps = deps
  }

  /** Credits an amount once for each reference. `created` is false when this reference has credited the account before. */
  async topUp(name: string, sent: Sent, actor: Actor) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const account = await accountNamed(store, name)
    const { amount, reference } = read(topUpForm, sent)
    const entry: NewEntry = { kind: 'topup', amount, reference, actor: entryActor(actor), note: '' }
    const { created } = this.#accepted(entry, await store.addEntry(account.id, entry, act(actor, 'entries.topUp')))
    const balance = await this.#balanceOf(account)
    await inForce(this.#deps)
    return { created, row: { account: name, amount: formatMicro(amount), reference, balance: formatMicro(balance) } }
  }

  /**
   * Adds a signed amount to the balance. Money is taken away only where no process has charged or leased it, or with
   * `force` in any case. `created` is false when the same adjustment was made before.
   */
  async adjust(name: string, sent: Sent, actor: Actor) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const account = await accountNamed(store, name)
    const { amount, reference, note, force } = read(adjustmentForm, sent)
    const entry: NewEntry = { kind: 'adjustment', amount, reference, actor: entryActor(actor), note }
    const by = act(actor, 'entries.adjust')
    const booked = await debit(this.#deps, account.id, () => store.addEntry(account.id, entry, by, force && amount < 0))
    const { created, entry: there } = this.#accepted(entry, booked)
    const balance = await this.#balanceOf(account)
    await inForce(this.#deps)
    return { created, row: { account: name, ...showEntry(there, balance) } }
  }

  /** One page, newest first. `next` is the `after` of the following page; null on the last page. */
  async page(name: string, filter: Sent) {
    const { store, fleet, clock } = this.#deps
    await fleet.settled()
    const account = await accountNamed(store, name)
    const { from, to, limit, after } = read(accountEntriesQuery, filter)
    const { zone } = store
    const end = to?.(zone)
    // The end of a range is exclusive. A time within a day means the end of that day.
    const toMs = end === undefined ? Number.MAX_SAFE_INTEGER : end.given === end.beginMs ? end.beginMs : end.endMs
    const { lines } = await bookLines(
      store,
      zone,
      account.id,
      { fromMs: from?.(zone).beginMs ?? 0, toMs },
      limit,
      after,
    )
    const next = lines.length === limit ? formatCursor(cursorOf(lines.at(-1)!, zone)) : null
    return { data: lines.map(line => showLine(line, clock.now())), next }
  }

  #accepted({ reference }: NewEntry, booked: Booked): { created: boolean; entry: Entry } {
    if (booked.outcome === 'conflict')
      throw new OperationError('conflict', `reference ${reference} stands for another entry already`)
    if (booked.outcome === 'short') {
      const available = formatMicro(booked.available)
      throw new OperationError('conflict', `only ${available} CNY can be taken away now`, { available })
    }
    return { created: booked.outcome === 'created', entry: booked.entry }
  }

  async #balanceOf({ id }: Account): Promise<Micro> {
    const [purse] = await this.#deps.store.purses([accountPurse(id)])
    return purse === undefined ? ZERO : subtract(purse.credit ?? ZERO, purse.spent)
  }
}
