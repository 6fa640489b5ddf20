/** The command `doctor` and its options; `doctor-public.ts` does what it says. */
import { type Command, InvalidArgumentError } from 'commander'
import { duration } from '../config/scalars.ts'

interface DoctorFlags {
  config: string
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
    .requiredOption('--public', 'ask through the public addresses: streams, bodies, silence, headers, addresses, TLS')
    .option('--main <url>', 'public address of the main listener (default: public.main of the config)')
    .option('--direct <url>', 'public address of the direct listener (default: public.direct of the config)')
    .option(
      '--silence <duration>',
      'how long a silent stream must live; 0s = not tried (default: 65s)',
      toMs,
      SILENCE_MS,
    )
    .option('--json', 'print JSON')
    .action(async ({ config: file, main, direct, silence, json }: DoctorFlags) => {
      const { loadConfig } = await import('../config/config.ts')
      const { checkPublic } = await import('./doctor-public.ts')
      const config = loadConfig(file, process.env)
      const urls = { main: main ?? config.public.main, direct: direct ?? config.public.direct }
      const checks = await checkPublic(config, { urls, silenceMs: silence })
      if (json === true) process.stdout.write(`${JSON.stringify({ checks })}\n`)
      else
        for (const { address, check, result, says, mend } of checks)
          process.stdout.write(`${MARKS[result]} ${address}: ${check}: ${says}${mend === '' ? '' : `\n    ${mend}`}\n`)
      if (checks.some(({ result }) => result === 'problem')) process.exitCode = 1
    })
}

function toMs(text: string): number {
  const ms = duration().safeParse(text)
  if (!ms.success) throw new InvalidArgumentError('Expected a duration like 65s or 0s.')
  return ms.data
}
