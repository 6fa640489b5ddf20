/** The command `doctor` and its options; `doctor-here.ts` and `doctor-public.ts` do what it says. */
import { type Command, InvalidArgumentError } from 'commander'
import { duration } from '../config/scalars.ts'
import type { Check } from './doctor-public.ts'

interface DoctorFlags {
  config: string
  deep?: true
  public?: true
  main?: string
  direct?: string
  silence: number
  json?: true
}

const SILENCE_MS = 65_000
const MARKS = { ok: '✓', warning: '!', problem: '✗' } as const

export function addDoctor(command: (name: string, description: string) => Command): void {
  command('doctor', 'say what is wrong, and what mends it; exit 1 when something is')
    .option('--deep', 'also ask each upstream for a model, through the gateway that runs; it may cost some tokens')
    .option('--public', 'only ask through the public addresses: streams, bodies, silence, headers, addresses, TLS')
    .option('--main <url>', 'public address of the main listener (default: public.main of the config)')
    .option('--direct <url>', 'public address of the direct listener (default: public.direct of the config)')
    .option(
      '--silence <duration>',
      'how long a silent stream must live; 0s = not tried (default: 65s)',
      toMs,
      SILENCE_MS,
    )
    .option('--json', 'print JSON')
    .action(async (flags: DoctorFlags) => {
      const checks: Check[] = []
      for await (const one of flags.public === true ? publicChecks(flags) : hereChecks(flags)) {
        checks.push(one)
        const { address, check, result, says, mend } = one
        if (flags.json !== true)
          process.stdout.write(`${MARKS[result]} ${address}: ${check}: ${says}${mend === '' ? '' : `\n    ${mend}`}\n`)
      }
      if (flags.json === true) process.stdout.write(`${JSON.stringify({ checks })}\n`)
      if (checks.some(({ result }) => result === 'problem')) process.exitCode = 1
    })
}

async function* publicChecks({ config: file, main, direct, silence }: DoctorFlags): AsyncGenerator<Check> {
  const { loadConfig } = await import('../config/config.ts')
  const { checkPublic } = await import('./doctor-public.ts')
  const config = loadConfig(file, process.env)
  const urls = { main: main ?? config.public.main, direct: direct ?? config.public.direct }
  yield* await checkPublic(config, { urls, silenceMs: silence })
}

async function* hereChecks({ config: configFile, deep }: DoctorFlags): AsyncGenerator<Check> {
  const { checkHere } = await import('./doctor-here.ts')
  yield* checkHere({ configFile, env: process.env, deep: deep === true })
}

function toMs(text: string): number {
  const ms = duration().safeParse(text)
  if (!ms.success) throw new InvalidArgumentError('Expected a duration like 65s or 0s.')
  return ms.data
}
