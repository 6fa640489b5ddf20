/** `gateway completion SHELL`: a script that completes commands and options, made from the commands themselves. */
import type { Command } from 'commander'

/** What may follow the words of a command. */
interface Place {
  /** The words that are typed before, such as `keys create`; empty at the beginning. */
  path: string
  words: string[]
}

export function completion(program: Command, shell: 'bash' | 'zsh' | 'fish'): string {
  const places = [...placesOf(program, '')]
  if (shell === 'fish') return fish(places)
  return shell === 'zsh' ? `autoload -U +X bashcompinit && bashcompinit\n${bash(places)}` : bash(places)
}

function* placesOf(command: Command, path: string): Generator<Place> {
  const words = [
    ...command.commands.map(one => one.name()),
    ...command.options.map(({ long }) => long as string),
    '--help',
  ]
  yield { path, words }
  for (const one of command.commands) yield* placesOf(one, `${path} ${one.name()}`.trim())
}

const bash = (places: readonly Place[]): string => `# eval "$(gateway completion bash)" in ~/.bashrc
_gateway() {
  local current=\${COMP_WORDS[COMP_CWORD]} path= word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path $word" in
${places.map(({ path }) => `      ' ${path}'|'${path}') path=${quoted(path)} ;;`).join('\n')}
    esac
  done
  case "$path" in
${places.map(({ path, words }) => `    ${quoted(path)}) COMPREPLY=($(compgen -W ${quoted(words.join(' '))} -- "$current")) ;;`).join('\n')}
  esac
  [ \${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
}
complete -F _gateway gateway
`

const fish = (places: readonly Place[]): string => {
  const lines = places.flatMap(({ path, words }) => {
    const seen =
      path === ''
        ? '__fish_use_subcommand'
        : path
            .split(' ')
            .map(word => `__fish_seen_subcommand_from ${word}`)
            .join('; and ')
    return words.map(word => {
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`
      return `complete -c gateway -n ${quoted(seen)} ${what}\n`
    })
  })
  return `# gateway completion fish > ~/.config/fish/completions/gateway.fish\n${lines.join('')}`
}

/** Names of commands and options have no quote in them. */
const quoted = (text: string): string => `'${text}'`
