/** The commands about ways to pay and their options; `pay-commands.ts` does what they say. */
import { Argument, type Command, InvalidArgumentError } from 'commander'
import { cny, duration } from '../config/scalars.ts'
import { PAY_METHODS } from '../terms/pay.ts'

type MakeCommand = (name: string, description: string) => Command

interface DoctorFlags {
  config: string
  account: string
  amount?: string
  refund?: true
  wait: number
  yes?: true
}

const DEFAULT_WAIT_MS = 15 * 60_000

/** `command` makes one below the noun. */
export function addPay(command: MakeCommand): void {
  command('doctor', 'walk one small order through a way to pay, and say what works and what does not')
    .addArgument(new Argument('<method>', 'the way to pay').choices(PAY_METHODS))
    .requiredOption('--account <name>', 'whom the money is credited to')
    .option('--amount <cny>', 'amount of the order (default: the least of the method)', toAmount)
    .option('--refund', 'send the money back at the end')
    .option('--wait <duration>', 'how long you take to pay (default: 15m)', toMs, DEFAULT_WAIT_MS)
    .option('--yes', 'do not ask before the order is made')
    .action(async (method: string, flags: DoctorFlags) => {
      const { account, amount = null, refund = false, wait, yes = false, config } = flags
      const { payDoctor } = await import('./pay-commands.ts')
      const wanted = { method, account, amount, refund, waitMs: wait, yes }
      if (!(await payDoctor(config, process.env, wanted))) process.exitCode = 1
    })
}

function toAmount(text: string): string {
  if (!cny.safeParse(text).success) throw new InvalidArgumentError('Expected an amount of CNY.')
  return text
}

function toMs(text: string): number {
  const ms = duration().safeParse(text)
  if (!ms.success) throw new InvalidArgumentError('Expected a duration like 30s or 5m.')
  return ms.data
}
