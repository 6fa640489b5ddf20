/** The commands about orders. They work on the store that the config names, with the operations of the admin API. */
import { read } from '../operations/read.ts'
import * as pay from '../pay/payments.ts'
import { name } from '../terms/config-scalars.ts'
import { COMMAND } from '../terms/people.ts'
import { deskOf } from './pay-desk.ts'
import { type Said, say } from './say.ts'
import { table } from './table.ts'
import { withStoreOf } from './with-store.ts'

export type OrderCall =
  | { kind: 'list'; filter: Record<string, string | undefined> }
  | { kind: 'show'; order: string }
  | { kind: 'refund'; order: string; form: object }
  | { kind: 'exceptions' }
  | { kind: 'resolve'; exception: string; form: object }

interface Told extends Said {
  /** What `--json` prints. */
  row: object
}

type Row = Readonly<Record<string, unknown>>

const MOST = 1_000
const ORDER = 'id created_at account method state amount credited refunded frozen'.split(' ')
const EXCEPTION = 'id at method kind order amount currency credit detail'.split(' ')
const NUMBERS = new Set('amount credited refunded frozen credit'.split(' '))

const listed = (rows: readonly Row[], names: readonly string[]): string =>
  table(
    names.map(name => ({ name: name.replace('_', ' '), ...(NUMBERS.has(name) ? { right: true } : {}) })),
    rows.map(row => names.map(name => cell(row[name]))),
    process.stdout.isTTY,
  )

/** An account is shown by its name. */
const cell = (value: unknown): string =>
  value === null ? '-' : typeof value === 'object' ? String((value as { name?: unknown }).name) : String(value)

const shown = (row: object, talk: string[] = []): Told => ({
  row,
  talk,
  data: Object.entries(row)
    .map(([name, value]) => `${name}\t${typeof value === 'object' && value !== null ? JSON.stringify(value) : value}\n`)
    .join(''),
})

const ordersQuery = pay.ordersFilter.extend({ account: name.optional() })

async function told(payments: pay.Payments, call: OrderCall, accountOf: FindAccount): Promise<Told> {
  switch (call.kind) {
    case 'list': {
      const asked = Object.entries(call.filter).filter(([, value]) => value !== undefined)
      const { account, ...filter } = read(ordersQuery, { ...Object.fromEntries(asked), limit: MOST })
      const page = await payments.orders(filter, account === undefined ? account : await accountOf(account))
      return { row: page, data: listed(page.data, ORDER), talk: more(page.next) }
    }
    case 'exceptions': {
      const page = await payments.exceptions(read(pay.exceptionsFilter, { limit: MOST }))
      return { row: page, data: listed(page.data, EXCEPTION), talk: more(page.next) }
    }
    case 'show':
      return shown(await payments.order(call.order))
    case 'refund': {
      const { row, created } = await payments.refund(call.order, read(pay.refundForm, call.form), COMMAND)
      return shown(row, created ? [] : ['this refund was begun before'])
    }
    case 'resolve':
      return shown(await payments.resolve(call.exception, read(pay.resolution, call.form), COMMAND))
  }
}

type FindAccount = (name: string) => Promise<Awaited<ReturnType<pay.PaymentsDeps['store']['accountByName']>>>

const more = (next: string | null): string[] => (next === null ? [] : [`only the newest ${MOST} are shown`])

/** Prints what the call says. */
export async function orderCommand(
  call: OrderCall,
  { configFile, env, json }: { configFile: string; env: NodeJS.ProcessEnv; json: boolean },
): Promise<void> {
  await withStoreOf(configFile, env, async (store, config) => {
    const { deps, desk } = deskOf(store, config)
    const payments = new pay.Payments({ ...deps, pay: async () => desk })
    const said = await told(payments, call, name => store.accountByName(name))
    say(json ? { data: `${JSON.stringify(said.row)}\n`, talk: [] } : said)
  })
}
