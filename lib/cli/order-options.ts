/** The commands about orders, and their options; `order-commands.ts` does what they say. */
import type { Command } from 'commander'
import { WAYS } from '../terms/pay.ts'
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
  to?: string
}

interface ResolveFlags extends OrderFlags {
  credit?: true
  close?: true
}

interface SentFlags extends Omit<OrderFlags, 'reason'> {
  tx?: string
  reason?: string
}

const run = async (call: OrderCall, { config, json }: Pick<OrderFlags, 'config' | 'json'>): Promise<void> => {
  const { orderCommand } = await import('./order-commands.ts')
  await orderCommand(call, { configFile: config, env: process.env, json: json === true })
}

const REASON = ['--reason <text>', 'why'] as const
const JSON_FLAG = ['--json', 'print JSON, as the admin API answers it'] as const

/** `group` makes a command that only has commands of its own. */
export function addOrders(group: (name: string, description: string) => MakeCommand): void {
  const orders = group('orders', 'payments of people: orders, refunds, and what waits for a person')
  orders('list', 'print orders, newest first')
    .option('--state <state>', 'created, pending, paid, credited, expired, failed, refunded or reversed')
    .option('--method <method>', WAYS)
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
    .requiredOption(...REASON)
    .option('--to <address>', 'where the payer wants the tokens of USDT')
    .option('--force', 'also money that is spent or promised, even below zero')
    .option(...JSON_FLAG)
    .action((order: string, { amount, reference, force, to, ...flags }: RefundFlags) => {
      const form = { amount, reference, reason: flags.reason, force: force === true }
      return run({ kind: 'refund', order, form: to === undefined ? form : { ...form, receiver: to } }, flags)
    })
  orders('release', 'credit an order now that is paid and held')
    .argument('<order>', 'its id')
    .requiredOption(...REASON)
    .option(...JSON_FLAG)
    .action((order: string, flags: OrderFlags) =>
      run({ kind: 'release', order, form: { reason: flags.reason } }, flags),
    )
  orders('exceptions', 'print what does not fit and waits for a person')
    .option(...JSON_FLAG)
    .action((flags: OrderFlags) => run({ kind: 'exceptions' }, flags))
  orders('resolve', 'credit what was received, or close an exception')
    .argument('<exception>', 'its number')
    .option('--credit', 'credit what was received')
    .option('--close', 'credit nothing')
    .requiredOption(...REASON)
    .option(...JSON_FLAG)
    .action((exception: string, flags: ResolveFlags) =>
      run({ kind: 'resolve', exception, form: decision(flags) }, flags),
    )
  addUsdt(orders)
}

const decision = ({ credit, close, reason }: ResolveFlags) => ({
  action: credit === close ? '' : credit ? 'credit' : 'close',
  reason,
})

function addUsdt(orders: MakeCommand): void {
  orders('to-send', 'print refunds of USDT whose tokens nobody has said to be sent')
    .option(...JSON_FLAG)
    .action((flags: OrderFlags) => run({ kind: 'toSend' }, flags))
  orders('addresses', 'print the addresses of USDT for sweeping, as CSV').action(async ({ config }: OrderFlags) => {
    const { printAddresses } = await import('./order-commands.ts')
    await printAddresses({ configFile: config, env: process.env })
  })
  orders('rewind', 'set back how far the chain is read, to a block that is final at both nodes')
    .requiredOption('--block <number>', 'the block')
    .requiredOption(...REASON)
    .option(...JSON_FLAG)
    .action(({ block, ...flags }: OrderFlags & { block: string }) =>
      run({ kind: 'rewind', form: { block, reason: flags.reason } }, flags),
    )
  orders('sent', 'end a refund of USDT: the transaction that sent the tokens, or why they are not sent')
    .argument('<refund>', 'its number')
    .option('--tx <hash>', 'the transaction')
    .option('--reason <text>', 'why they are not sent')
    .option(...JSON_FLAG)
    .action((refund: string, { tx, ...flags }: SentFlags) => {
      const form = {
        ...(tx === undefined ? {} : { tx }),
        ...(flags.reason === undefined ? {} : { reason: flags.reason }),
      }
      return run({ kind: 'sent', refund, form }, flags)
    })
}
