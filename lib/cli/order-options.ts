/** The commands about orders and their options; `order-commands.ts` does what they say. */
import type { Command } from 'commander'
import type { OrderCall } from './order-commands.ts'

type MakeCommand = (name: string, description: string) => Command

interface OrderFlags {
  config: string
  json?: true
  reason: string
}

interface ListFlags extends OrderFlags {
  state?: string
  method?: string
  account?: string
  older?: string
}

interface RefundFlags extends OrderFlags {
  amount: string
  reference: string
  force?: true
}

interface ResolveFlags extends OrderFlags {
  credit?: true
  close?: true
}

const run = async (call: OrderCall, { config, json }: OrderFlags): Promise<void> => {
  const { orderCommand } = await import('./order-commands.ts')
  await orderCommand(call, { configFile: config, env: process.env, json: json === true })
}

const JSON_FLAG = ['--json', 'print JSON, as the admin API answers it'] as const

/** `group` makes a command that only has commands of its own. */
export function addOrders(group: (name: string, description: string) => MakeCommand): void {
  const orders = group('orders', 'payments of people: orders, refunds, and what waits for a person')
  orders('list', 'print orders, newest first')
    .option('--state <state>', 'created, pending, paid, credited, expired, failed, refunded or reversed')
    .option('--method <method>', 'alipay, wechat or card')
    .option('--account <name>', 'only those of this account')
    .option('--older <duration>', 'only those that were made at least so long ago, like 10m')
    .option(...JSON_FLAG)
    .action(({ state, method, account, older, ...flags }: ListFlags) =>
      run({ kind: 'list', filter: { state, method, account, older } }, flags),
    )
  orders('show', 'print an order with its proofs, refunds and exceptions')
    .argument('<order>', 'its id')
    .option(...JSON_FLAG)
    .action((order: string, flags: OrderFlags) => run({ kind: 'show', order }, flags))
  orders('refund', 'send money of an order back to the payer; it is frozen before the provider is asked')
    .argument('<order>', 'its id')
    .requiredOption('--amount <cny>', 'how much')
    .requiredOption('--reference <name>', 'your name for this refund; asking again under it changes nothing')
    .requiredOption('--reason <text>', 'why')
    .option('--force', 'also money that is spent or promised, even below zero')
    .option(...JSON_FLAG)
    .action((order: string, { amount, reference, force, ...flags }: RefundFlags) =>
      run({ kind: 'refund', order, form: { amount, reference, reason: flags.reason, force: force === true } }, flags),
    )
  orders('exceptions', 'print what does not fit and waits for a person')
    .option(...JSON_FLAG)
    .action((flags: OrderFlags) => run({ kind: 'exceptions' }, flags))
  orders('resolve', 'credit what was received, or close an exception')
    .argument('<exception>', 'its number')
    .option('--credit', 'credit what was received')
    .option('--close', 'credit nothing')
    .requiredOption('--reason <text>', 'why')
    .option(...JSON_FLAG)
    .action((exception: string, flags: ResolveFlags) => {
      const action = flags.credit === flags.close ? '' : flags.credit ? 'credit' : 'close'
      return run({ kind: 'resolve', exception, form: { action, reason: flags.reason } }, flags)
    })
}
