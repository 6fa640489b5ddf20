/** What a command has to say: data goes to standard output, so that programs can read it, and all other talk to standard error. */
export interface Said {
  data: string
  talk: readonly string[]
}

export function say({ data, talk }: Said): void {
  process.stdout.write(data)
  for (const line of talk) console.error(line)
}
