/** The commands about orders. They work on the store that the config names, with the operations of the admin API. */
import { read } from '../operations/read.ts'
import * as pay from '../pay/admin.ts'
import { name } from '../config/scalars.ts'
import { COMMAND } from '../base/people.ts'
import { deskOf } from './pay-desk.ts'
import { type CommandOutput, say, writeAll, table } from './output.ts'
import { withStoreOf } from './with-store.ts'

export type OrderCall =
  | { kind: 'list'; filter: Record<string, string | undefined> }
  | { kind: 'show'; order: string }
  | { kind: 'refund'; order: string; form: object }
  | { kind: 'release'; order: string; form: object }
  | { kind: 'exceptions' }
  | { kind: 'resolve'; exception: string; form: object }
  | { kind: 'toSend' }
  | { kind: 'rewind'; form: object }
  | { kind: 'sent'; refund: string; form: object }

interface RowOutput extends CommandOutput {
  /** What `--json` prints. */
  row: object
}

type Row = Readonly<Record<string, unknown>>

const MOST = 1_000
const ORDER = 'id created_at account method state amount credited refunded frozen held_until'.split(' ')
const EXCEPTION = 'id at due_at method kind order amount currency credit detail'.split(' ')
const TO_SEND = 'id at order amount tokens receiver reason'.split(' ')
const NUMBERS = new Set('amount credited refunded frozen credit tokens'.split(' '))

const listed = (rows: readonly Row[], names: readonly string[]): string =>
  table(
    names.map(name => ({ name: name.replace('_', ' '), ...(NUMBERS.has(name) ? { right: true } : {}) })),
    rows.map(row => names.map(name => cell(row[name]))),
    process.stdout.isTTY,
  )

/** An account is shown by its name. */
const cell = (value: unknown): string =>
  value === null ? '-' : typeof value === 'object' ? String((value as { name?: unknown }).name) : String(value)

const shown = (row: object, talk: string[] = []): RowOutput => ({
  row,
  talk,
  data: Object.entries(row)
    .map(([name, value]) => `${name}\t${typeof value === 'object' && value !== null ? JSON.stringify(value) : value}\n`)
    .join(''),
})

const ordersQuery = pay.ordersFilter.extend({ account: name.optional() })

/** With as many rows as there may be. */
const allOf = (filter: Record<string, string | undefined>) => ({
  ...Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined)),
  limit: MOST,
})

async function told(payments: pay.PaymentsAdmin, call: OrderCall, accountOf: FindAccount): Promise<RowOutput> {
  switch (call.kind) {
    case 'list': {
      const { account, ...filter } = read(ordersQuery, allOf(call.filter))
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
      const todo = row.tokens === null ? [] : ['send the tokens now, and then say by which transaction']
      return shown(row, created ? todo : ['this refund was begun before'])
    }
    case 'release':
      return shown(await payments.release(call.order, read(pay.releaseForm, call.form), COMMAND))
    case 'resolve':
      return shown(await payments.resolve(call.exception, read(pay.resolution, call.form), COMMAND))
    case 'toSend': {
      const page = await payments.refundsToSend()
      return { row: page, data: listed(page.data, TO_SEND), talk: [] }
    }
    case 'rewind':
      return shown(await payments.rewind(read(pay.rewindForm, call.form), COMMAND))
    case 'sent':
      return shown(await payments.endRefund(call.refund, read(pay.sentForm, call.form), COMMAND))
  }
}

type FindAccount = (name: string) => Promise<Awaited<ReturnType<pay.PaymentsAdminDeps['store']['accounts']['byName']>>>

const more = (next: string | null): string[] => (next === null ? [] : [`only the newest ${MOST} are shown`])

interface With {
  configFile: string
  env: NodeJS.ProcessEnv
}

/** Prints the list for sweeping. */
export async function printAddresses({ configFile, env }: With): Promise<void> {
  await withStoreOf(configFile, env, async (store, config) => {
    const { deps, desk } = deskOf(store, config)
    await writeAll(await new pay.PaymentsAdmin({ ...deps, pay: async () => desk }).sweepList(), process.stdout)
  })
}

/** Prints what the call says. */
export async function orderCommand(
  call: OrderCall,
  { configFile, env, json }: With & { json: boolean },
): Promise<void> {
  await withStoreOf(configFile, env, async (store, config) => {
    const { deps, desk } = deskOf(store, config)
    const parts = { ...deps, pay: async () => desk }
    const accountOf: FindAccount = name => store.accounts.byName(name)
    const said = await told(new pay.PaymentsAdmin(parts), call, accountOf)
    say(json ? { data: `${JSON.stringify(said.row)}\n`, talk: [] } : said)
  })
}
