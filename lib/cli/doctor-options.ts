/** The command `doctor` and its options; `doctor-here.ts`, `doctor-client.ts` and `doctor-public.ts` do what it says. */
import { readFileSync } from 'node:fs'
import { InvalidArgumentError } from 'commander'
import type { Check } from './doctor-public.ts'
import { type MakeCommand, toMs } from './options.ts'
import { remark } from './output.ts'

interface DoctorFlags {
  config: string
  deep?: true
  public?: true
  main?: string
  direct?: string
  base?: string
  key?: string
  silence: number
  json?: true
}

const SILENCE_MS = 65_000
const MARKS = { ok: '✓', warning: '!', problem: '✗' } as const

export function addDoctor(command: MakeCommand): void {
  command('doctor', 'say what is wrong, and what mends it; exit 1 when something is')
    .option('--deep', 'also ask each upstream for a model, through the gateway that runs; it may cost some tokens')
    .option('--public', 'only ask through the public addresses: streams, bodies, silence, headers, addresses, TLS')
    .option('--main <url>', 'public address of the main listener (default: public.main of the config)')
    .option('--direct <url>', 'public address of the direct listener (default: public.direct of the config)')
    .option(
      '--silence <duration>',
      'how long a silent stream must live; 0s = not tried (default: 65s)',
      toMs('65s or 0s'),
      SILENCE_MS,
    )
    .option('--base <url>', 'only ask as a client would that has this base address; reads no config')
    .option(
      '--key <where>',
      "with --base: name of the environment's variable that has the client's key; - is the standard input",
      toKeyPlace,
    )
    .option('--json', 'print JSON')
    .action(async (flags: DoctorFlags) => {
      const checks: Check[] = []
      for await (const one of checksFor(flags)) {
        checks.push(one)
        const { address, check, result, says, mend } = one
        if (flags.json !== true)
          process.stdout.write(
            remark(`${MARKS[result]} ${address}: ${check}: ${says}`, '') + (mend === '' ? '' : remark(mend, '    ')),
          )
      }
      if (flags.json === true) process.stdout.write(`${JSON.stringify({ checks })}\n`)
      if (checks.some(({ result }) => result === 'problem')) process.exitCode = 1
    })
}

function checksFor(flags: DoctorFlags): AsyncGenerator<Check> {
  if (flags.base !== undefined) return clientChecks(flags.base, flags.key)
  return flags.public === true ? publicChecks(flags) : hereChecks(flags)
}

async function* clientChecks(base: string, key: string | undefined): AsyncGenerator<Check> {
  const { checkClient } = await import('./doctor-client.ts')
  yield* checkClient({
    base,
    key: key === undefined ? null : key === '-' ? readFileSync(0, 'utf8') : (process.env[key] ?? ''),
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

/** A key itself would stand in the list of processes and in the history of the shell. */
function toKeyPlace(text: string): string {
  if (text !== '-' && !/^[A-Za-z_][A-Za-z0-9_]{0,99}$/.test(text))
    throw new InvalidArgumentError(
      'Expected the name of a variable, or - for the standard input, and not the key itself.',
    )
  return text
}
