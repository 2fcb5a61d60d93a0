# Completions of lamina for fish. `lamina complete` says what a word may be.
function __lamina_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] complete -- $words[2..-1] 2>/dev/null)
        switch $line
            case ':files' ':folders'
                set -l current (commandline -ct)
                set -l path (string replace -r '^.*=' '' -- $current)
                set -l before (string sub -l (math (string length -- $current) - (string length -- $path)) -- $current)
                if test $line = ':files'
                    printf "$before%s\n" (__fish_complete_path $path)
                else
                    printf "$before%s\n" (__fish_complete_directories $path)
                end
            case '*'
                echo $line
        end
    end
end
complete -c lamina -f -a '(__lamina_complete)'
