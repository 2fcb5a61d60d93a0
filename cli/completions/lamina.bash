# Completions of lamina for bash. `lamina complete` says what a word may be.
_lamina() {
    # Bash splits words at '=' and ':' (COMP_WORDBREAKS), which lamina's words may contain: those without a blank
    # between them are one.
    local words=() rest=$COMP_LINE i word
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ i -gt 0 && $rest != [[:space:]]* ]]; then words[-1]+=$word; else words+=("$word"); fi
        rest=${rest#*"$word"}
    done
    local current=${words[-1]} candidate
    local broken=${current%"${current##*[=:]}"} # what bash leaves as it is
    COMPREPLY=()
    while IFS=$'\t' read -r candidate _; do
        case $candidate in
        :files) compopt -o default ;;
        :folders) compopt -o dirnames ;;
        *) COMPREPLY+=("${candidate#"$broken"}") ;;
        esac
    done < <("${words[0]}" complete -- "${words[@]:1}" 2>/dev/null)
}
complete -F _lamina lamina
