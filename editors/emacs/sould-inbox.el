;;; sould-inbox.el --- What waits for your answer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; All that sessions ask, of all projects and whichever client began them, told as it comes.  Looking and answering open no
;; session here, and the first answer wins wherever it is given.

;;; Code:

(require 'crm)
(require 'sould-agent)

(defface sould-inbox-title '((t :inherit warning :weight bold))
  "What is asked."
  :group 'sould)

(defconst sould-inbox--name "*sould inbox*" "The buffer of the inbox.")
(defvar sould-inbox--items nil "What waits, longest first.")
(defvar sould-inbox--told nil "The connection that tells what changes.")

(defvar sould-inbox-mode-map
  (let ((map (make-sparse-keymap)))
    (suppress-keymap map)
    (pcase-dolist (`(,key . ,command)
                   '(("n" . sould-inbox-next) ("p" . sould-inbox-previous)
                     ("a" . sould-inbox-approve) ("s" . sould-inbox-approve-session)
                     ("r" . sould-inbox-reject) ("d" . sould-inbox-dismiss) ("\r" . sould-inbox-answer)
                     ("g" . sould-inbox-refresh) ("q" . quit-window)))
      (define-key map key command))
    map)
  "Keys of the inbox.")

(define-derived-mode sould-inbox-mode special-mode "sould inbox"
  "What waits for your answer, in all projects.
\\{sould-inbox-mode-map}"
  (setq-local revert-buffer-function (lambda (&rest _) (sould-inbox-refresh)))
  (add-hook 'kill-buffer-hook #'sould-inbox--leave nil t))

;;;###autoload
(defun sould-inbox ()
  "Show what waits for your answer, in all projects."
  (interactive)
  (let ((buffer (get-buffer-create sould-inbox--name)))
    (with-current-buffer buffer
      (unless (derived-mode-p 'sould-inbox-mode)
        (sould-inbox-mode)
        (let ((inhibit-read-only t))
          (insert "Looking ...\n")))
      (sould-inbox-refresh))
    (pop-to-buffer buffer)))

(defun sould-inbox-refresh ()
  "Ask for all that waits, and for news of it from then on."
  (interactive)
  (let ((connection (sould-agent-connection)))
    (setq sould-inbox--told connection)
    (sould-rpc-request connection "_sould/inbox/subscribe" nil
                       (lambda (answer)
                         (setq sould-inbox--items (plist-get answer :items))
                         (sould-inbox--show)))))

(defun sould-inbox--leave ()
  "Be told no more."
  (when (sould-rpc-live-p sould-inbox--told)
    (sould-rpc-request sould-inbox--told "_sould/inbox/unsubscribe" nil))
  (setq sould-inbox--told nil))

(defun sould-inbox--changed (method params)
  "Take the notification METHOD, if it is about the inbox, with PARAMS."
  (when (and (equal method "_sould/inbox/changed") sould-inbox--told)
    (if (plist-get params :everything)
        (sould-inbox-refresh)
      (let ((ended (mapcar (lambda (each) (plist-get each :id)) (plist-get params :ended))))
        (setq sould-inbox--items (seq-remove (lambda (item) (member (plist-get item :id) ended)) sould-inbox--items)))
      (dolist (item (plist-get params :items))
        (sould-inbox--take item))
      (sould-inbox--show))))

(defun sould-inbox--take (item)
  "ITEM waits, in the place that it had, or behind all others."
  (let ((place (seq-position sould-inbox--items item
                             (lambda (one other) (equal (plist-get one :id) (plist-get other :id))))))
    (if place
        (setf (nth place sould-inbox--items) item)
      (setq sould-inbox--items (append sould-inbox--items (list item))))))

(defun sould-inbox--ended ()
  "Connect again if the inbox is shown."
  (when sould-inbox--told
    (setq sould-inbox--told nil)
    (when (get-buffer-window sould-inbox--name t)
      (run-at-time 1 nil #'sould-inbox-refresh))))

(add-hook 'sould-agent-notification-functions #'sould-inbox--changed)
(add-hook 'sould-agent-ended-hook #'sould-inbox--ended)

(defun sould-inbox--show ()
  "Show what waits; point stays on what it is on."
  (when-let ((buffer (get-buffer sould-inbox--name)))
    (with-current-buffer buffer
      (let ((inhibit-read-only t)
            (here (plist-get (get-text-property (point) 'sould-item) :id)))
        (erase-buffer)
        (mapc #'sould-inbox--insert sould-inbox--items)
        (insert (if sould-inbox--items "" "Nothing waits for you.\n")
                (propertize (substitute-command-keys
                             "\\<sould-inbox-mode-map>\\[sould-inbox-approve] approve  \\[sould-inbox-approve-session] approve from now on  \\[sould-inbox-reject] reject, with words  \\[sould-inbox-answer] answer  \\[sould-inbox-dismiss] dismiss")
                            'font-lock-face 'shadow)
                "\n")
        (goto-char (or (sould-inbox--place here) (point-min)))
        (dolist (window (get-buffer-window-list nil nil t))
          (set-window-point window (point)))))))

(defun sould-inbox--place (id)
  "Where the item ID begins, or nil."
  (let ((place (point-min)))
    (while (and place (not (and id (equal id (plist-get (get-text-property place 'sould-item) :id)))))
      (setq place (next-single-property-change place 'sould-item)))
    place))

(defun sould-inbox--insert (item)
  "Insert ITEM."
  (let* ((begin (point)) (session (plist-get item :session)) (asker (or (plist-get item :asker) "")))
    (insert (propertize (plist-get item :title) 'font-lock-face 'sould-inbox-title) "\n"
            (propertize (format "  %s, %s%s\n" (abbreviate-file-name (plist-get session :cwd)) (or (plist-get session :title) "")
                                (if (string-empty-p asker) "" (concat ", " asker)))
                        'font-lock-face 'shadow)
            (mapconcat (lambda (line) (concat "  " line "\n")) (plist-get item :lines) "")
            (let ((more (or (plist-get item :more) 0))) (if (= more 0) "" (format "  ... %d more lines\n" more)))
            (mapconcat #'sould-inbox--question (plist-get item :questions) "")
            "\n")
    (put-text-property begin (point) 'sould-item item)))

(defun sould-inbox--question (question)
  "QUESTION with its options, as text."
  (let ((number 0) (body (or (plist-get question :body) "")))
    (concat "  " (plist-get question :question) "\n"
            (if (string-empty-p body) "" (replace-regexp-in-string "^" "  " (concat body "\n") nil nil nil 0))
            (mapconcat (lambda (option)
                         (let ((description (or (plist-get option :description) "")))
                           (format "    %d. %s%s\n" (cl-incf number) (plist-get option :label)
                                   (if (string-empty-p description) "" (concat ": " description)))))
                       (plist-get question :options) ""))))

;;;; Commands

(defun sould-inbox--item ()
  "The item at point."
  (or (get-text-property (point) 'sould-item)
      (user-error "Nothing here waits for you")))

(defun sould-inbox--tell (item decision &rest more)
  "Answer ITEM by DECISION, with MORE parameters."
  (sould-rpc-request (sould-agent-connection) "_sould/inbox/answer"
                     (append (list :id (plist-get item :id) :decision decision) more)
                     (lambda (answer) (message "%s" (plist-get answer :message)))))

(defun sould-inbox--approval ()
  "The approval at point."
  (let ((item (sould-inbox--item)))
    (if (equal (plist-get item :kind) "approval")
        item
      (user-error "%s" (substitute-command-keys
                        "\\<sould-inbox-mode-map>This is a question: \\[sould-inbox-answer] answers it, \\[sould-inbox-dismiss] dismisses it")))))

(defun sould-inbox-approve ()
  "Allow what is asked at point, once."
  (interactive)
  (sould-inbox--tell (sould-inbox--approval) "approve" :scope "once"))

(defun sould-inbox-approve-session ()
  "Allow what is asked at point, and the like from now on.
That is in its session, in its project, or always."
  (interactive)
  (let* ((item (sould-inbox--approval))
         (offered (seq-remove (lambda (each) (equal (plist-get each :scope) "once")) (plist-get item :scopes)))
         (labels (mapcar (lambda (each) (plist-get each :label)) offered))
         (label (cond ((null offered) (user-error "This can only be allowed once"))
                      ((cdr offered) (completing-read "From now on: " labels nil t))
                      (t (car labels))))
         (scope (seq-find (lambda (each) (equal (plist-get each :label) label)) offered))
         (remembers (or (plist-get scope :remembers) "")))
    (when (and scope (y-or-n-p (format "%s: from now on %s? " label (if (string-empty-p remembers) "so" remembers))))
      (sould-inbox--tell item "approve" :scope (plist-get scope :scope)))))

(defun sould-inbox-reject (words)
  "Reject what is asked at point, and tell the agent WORDS.
Without words its turn ends."
  (interactive (list (progn (sould-inbox--approval)
                            (read-string "Tell the agent why (empty: stop it): "))))
  (apply #'sould-inbox--tell (sould-inbox--approval) "reject"
         (unless (string-empty-p words) (list :words words))))

(defun sould-inbox-dismiss ()
  "Have the agent go on without an answer to the question at point."
  (interactive)
  (let ((item (sould-inbox--item)))
    (if (equal (plist-get item :kind) "approval")
        (user-error "%s" (substitute-command-keys
                          "\\<sould-inbox-mode-map>\\[sould-inbox-reject] rejects this"))
      (when (y-or-n-p "Go on without an answer? ")
        (sould-inbox--tell item "dismiss")))))

(defun sould-inbox-answer ()
  "Answer the question at point, or approve what is asked there."
  (interactive)
  (let ((item (sould-inbox--item)))
    (if (equal (plist-get item :kind) "approval")
        (when (y-or-n-p (format "Approve: %s? " (plist-get item :title)))
          (sould-inbox--tell item "approve" :scope "once"))
      (sould-inbox--tell item "answer" :answers (vconcat (mapcar #'sould-inbox--read (plist-get item :questions)))))))

(defun sould-inbox--read (question)
  "What the user answers QUESTION: options, or words of their own."
  (let* ((labels (mapcar (lambda (option) (plist-get option :label)) (plist-get question :options)))
         (own (or (null labels) (not (member (plist-get question :words) '(nil "")))))
         (crm-separator "[ \t]*;[ \t]*")
         (prompt (concat (plist-get question :question) (if (plist-get question :several) " (several with ;) " " ")))
         (typed (cond ((null labels) (list (read-string prompt (plist-get question :default))))
                      ((plist-get question :several) (completing-read-multiple prompt labels nil (not own)))
                      (t (list (completing-read prompt labels nil (not own))))))
         (given (seq-remove #'string-empty-p typed)))
    (cond ((null given) nil)
          ((seq-every-p (lambda (each) (member each labels)) given) (list :chosen (vconcat given)))
          (t (list :words (string-join given "; "))))))

(defun sould-inbox-next ()
  "Go to the next item."
  (interactive)
  (goto-char (or (next-single-property-change (point) 'sould-item) (point))))

(defun sould-inbox-previous ()
  "Go to the previous item."
  (interactive)
  (goto-char (or (previous-single-property-change (point) 'sould-item) (point-min))))

(provide 'sould-inbox)
;;; sould-inbox.el ends here
